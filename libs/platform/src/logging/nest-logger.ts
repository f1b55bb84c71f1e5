import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

/** Nest's own lines through pino: what it says about its start is for debugging. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...context: unknown[]): void {
    this.logger.debug({ context: context.at(-1) }, String(message));
  }

  warn(message: unknown, ...context: unknown[]): void {
    this.logger.warn({ context: context.at(-1) }, String(message));
  }

  error(message: unknown, ...context: unknown[]): void {
    const err = message instanceof Error ? message : context.find((item) => item instanceof Error);
    this.logger.error(
      { err, context: context.at(-1) },
      message instanceof Error ? message.message : String(message),
    );
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.error(message, ...context);
  }

  debug(): void {}

  verbose(): void {}
}
