{
  description = "repro-matrix: experiments on Intel's GPU compute drivers, with or without a GPU";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      # The driver exists for x86-64 only.
      system = "x86_64-linux";
      pkgs = nixpkgs.legacyPackages.${system};
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;

      # nixpkgs' driver as one directory, with the C library that it was linked against:
      #   repro-matrix drivers add nixpkgs --prefix "$(nix build --print-out-paths .#driver)"
      driver = pkgs.symlinkJoin {
        name = "intel-compute-driver-prefix";
        paths = [
          pkgs.intel-compute-runtime
          # The Level Zero driver is an output of its own.
          pkgs.intel-compute-runtime.drivers
          pkgs.intel-graphics-compiler
          pkgs.intel-gmmlib
          pkgs.level-zero
          pkgs.glibc
          pkgs.stdenv.cc.cc.lib
        ];
      };

      repro-matrix = pkgs.rustPlatform.buildRustPackage {
        pname = "repro-matrix";
        inherit (manifest) version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        # The tests fetch a driver build and start simulated devices; a build sandbox allows neither.
        doCheck = false;
        nativeBuildInputs = [
          pkgs.installShellFiles
          pkgs.makeWrapper
        ];
        postInstall = ''
          installShellCompletion --cmd repro-matrix \
            --bash <($out/bin/repro-matrix completions bash) \
            --fish <($out/bin/repro-matrix completions fish) \
            --zsh <($out/bin/repro-matrix completions zsh)
          $out/bin/repro-matrix man > repro-matrix.1
          installManPage repro-matrix.1
          wrapProgram $out/bin/repro-matrix --suffix PATH : ${pkgs.lib.makeBinPath [ pkgs.strace ]}
        '';
        meta = {
          description = "Finds, measures and bisects silent faults in Intel's GPU compute drivers";
          license = with pkgs.lib.licenses; [
            mit
            asl20
          ];
          mainProgram = "repro-matrix";
          platforms = [ system ];
        };
      };
    in
    {
      packages.${system} = {
        inherit repro-matrix driver;
        default = repro-matrix;
      };

      devShells.${system}.default = pkgs.mkShell {
        packages = [
          pkgs.cargo
          pkgs.rustc
          pkgs.rustfmt
          pkgs.clippy
          pkgs.strace
          # `drivers fetch debian` and `drivers add --deb` use these.
          pkgs.apt
          pkgs.dpkg
        ];
      };

      formatter.${system} = pkgs.nixfmt-rfc-style;
    };
}
