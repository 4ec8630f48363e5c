# toolroute in a container: `serve` where nothing else is asked for. It needs no network at run time.
#
#   docker build -t toolroute .                                              # compiles it
#   docker build -t toolroute --build-arg BINARY=given -f Dockerfile FOLDER  # FOLDER: an unpacked release
#   docker run --read-only -p 127.0.0.1:8765:8765 -v "$PWD/examples/catalog:/catalog:ro" -e TOOLROUTE_TOKEN toolroute
#
# docs/deployment.md has more; scripts/container.sh tests it.
ARG BINARY=compiled

FROM rust:1.91-slim-bookworm AS compiled
WORKDIR /src
COPY . .
RUN cargo build --release --locked && cp target/release/toolroute LICENSE-APACHE LICENSE-MIT /

# A binary that needs no later glibc than Debian 12 has (2.36), as scripts/build_binary.sh makes it.
FROM scratch AS given
COPY toolroute LICENSE-APACHE LICENSE-MIT /

FROM ${BINARY} AS binary

FROM debian:bookworm-slim
# Without certificates it calls no server over HTTP.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --home-dir /var/lib/toolroute --create-home --shell /usr/sbin/nologin toolroute && mkdir /catalog
COPY --from=binary /LICENSE-APACHE /LICENSE-MIT /usr/share/doc/toolroute/
COPY --from=binary /toolroute /usr/local/bin/toolroute
# A number, so that Kubernetes sees that it is not root.
USER 10001:10001
# Vectors are kept below the home folder. A volume, because it is not ready where it cannot write them (--read-only).
ENV HOME=/var/lib/toolroute TOOLROUTE_TOOLS=/catalog
VOLUME /var/lib/toolroute
EXPOSE 8765
# The image has no curl. A probe needs no token.
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8765 && printf 'GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [[ $status == 200 ]] || exit 1"]
ENTRYPOINT ["toolroute"]
CMD ["serve", "--addr", "0.0.0.0:8765"]
