{
  description = "Keeps concurrent coding sessions from taking each other's work";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
      manifest = (nixpkgs.lib.importTOML ../../Cargo.toml).package;
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = pkgs.lib.cleanSource ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          nativeCheckInputs = [ pkgs.git ];
          # The tests with the real client need the network.
          cargoTestFlags = [ "--lib" ];
          postInstall = ''
            HOME=$TMPDIR $out/bin/octo man man
            installManPage man/man*/*
            for shell in bash zsh fish; do
              HOME=$TMPDIR $out/bin/octo completions $shell > octo.$shell
            done
            installShellCompletion octo.bash octo.zsh octo.fish
          '';
          meta = {
            description = manifest.description;
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "octo";
          };
        };
      });
    };
}
