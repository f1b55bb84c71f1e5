import { describe, expect, it } from '@jest/globals';
import { parseOptions } from './options.js';

describe('npm start', () => {
  it('starts with the demo and without SMTP unless told otherwise', () => {
    expect(parseOptions([])).toEqual({ smtp: false, demo: true });
  });

  it('takes --smtp, --port and --no-demo', () => {
    expect(parseOptions(['--smtp', '--port', '4000', '--no-demo'])).toEqual({
      smtp: true,
      port: 4000,
      demo: false,
    });
  });

  it.each([[['--port', '70000']], [['--port', 'http']], [['--unknown']], [['stray']]])(
    'refuses %j',
    (args) => {
      expect(() => parseOptions(args)).toThrow();
    },
  );
});
