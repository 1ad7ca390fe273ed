tornado-proxy completion fish | source
