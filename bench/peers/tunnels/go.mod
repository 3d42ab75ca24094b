module anabranch.example/tunnels

go 1.21
