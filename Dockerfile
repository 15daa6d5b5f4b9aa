FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: every native package here carries its binaries.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY actors actors
COPY bench bench
RUN node src/launch.cjs build \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules/uWebSockets.js/dist/bin -name '*.node' \
      ! -name "uws_linux_*_$(node -p process.versions.modules).node" -delete

FROM node:22-bookworm-slim
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Device Data Backend" \
      org.opencontainers.image.description="Stores the property changes of device fleets, and sends them to applications in real time." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.base.name="docker.io/library/node:22-bookworm-slim"
WORKDIR /app
# The entry point is node itself, so that SIGTERM reaches it. The launcher would set UV_THREADPOOL_SIZE and
# UWS_HTTP_MAX_HEADERS_SIZE. MALLOC_ARENA_MAX limits the heaps of glibc: with one for each thread, they use 40 MB more.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=8 UWS_HTTP_MAX_HEADERS_SIZE=16384 MALLOC_ARENA_MAX=2
# HOST is not loopback, because other containers could not reach the server there. With IAM=off, publish the port only to
# addresses that you trust. With IAM on (the default), the first start prints the administrator's password to standard
# error, which the container engine keeps in its log. ADMIN_NAME and ADMIN_PASSWORD prevent this.
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
RUN mkdir /data && chown node:node /data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
USER node
# The database, firmware images, and identity.key, without which the accounts of the database are lost: keep all in one
# volume and one backup. The user `node` must be able to write to the folder.
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/v1/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/app/main.js"]
