import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { createLogger, logContext } from './logger.js';

function loggerWithLines(format: 'json' | 'pretty' = 'json') {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return { lines, logger: createLogger({ LOG_LEVEL: 'info', LOG_FORMAT: format }, 'spec', destination) };
}

const KEY = 'mw_test_0123456789abcdefghijABCDEFGHIJ012345678';

describe('The logger', () => {
  it('writes no address and no key, wherever they stand', () => {
    const { lines, logger } = loggerWithLines();
    const error = Object.assign(new Error(`Key (email)=(jane@example.com) exists, ${KEY}`), {
      code: '23505',
      detail: 'jane@example.com',
      cause: new Error('to jane@example.com'),
    });
    logger.info(`mail to jane@example.com with ${KEY}`);
    logger.warn(
      { to: 'jane@example.com', nested: { list: ['jane@example.com'] } },
      'mail to %s',
      'jane@example.com',
    );
    logger.error({ err: error }, 'failed');
    logger.error(error);
    expect(lines).toHaveLength(4);
    expect(lines.join('')).not.toMatch(/jane|0123456789abc/);
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({
      level: 'error',
      msg: 'failed',
      err: { type: 'Error', code: '23505', stack: expect.any(String) },
    });
  });

  it('carries the context of the request on each line', () => {
    const { lines, logger } = loggerWithLines();
    logContext.run({ requestId: 'r-1' }, () => logger.info({ count: 1 }, 'inside'));
    logger.info('outside');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        requestId: 'r-1',
        count: 1,
        process: 'spec',
        msg: 'inside',
        time: expect.stringMatching(/Z$/),
      }),
      expect.not.objectContaining({ requestId: expect.anything() }),
    ]);
  });

  it('is readable for a person when it is to be', async () => {
    const { lines, logger } = loggerWithLines('pretty');
    logger.info({ to: 'jane@example.com' }, 'hello');
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines.join('')).toMatch(/INFO.*hello.*\[address\]/s);
  });
});
