import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded before the programs, in the place of a line in /etc/hosts: the names in `TEST_HOST_NAMES` lead to this machine.
 */
const names = new Set((process.env['TEST_HOST_NAMES'] ?? '').split(','));
const { lookup } = dns;

dns.lookup = ((host: string, ...rest: []) =>
  lookup(names.has(host) ? '127.0.0.1' : host, ...rest)) as typeof lookup;
syncBuiltinESMExports();
