import type { MailExchange } from './dns-answer.js';
import { failed, type RecordVerdict, verified } from './record-verdict.js';

/** Whether bounces go to the server of `expected` (`10 bounces.example`), and to it alone. */
export function checkMx(found: readonly MailExchange[], expected: string): RecordVerdict {
  const wanted = expected.split(' ')[1];
  const actual = found.map(({ priority, exchange }) => `${priority} ${exchange === '' ? '.' : exchange}`);
  const others = found.filter(({ exchange }) => exchange.toLowerCase() !== wanted);
  if (others.length === found.length) return failed('MISMATCH', `the mail server must be ${wanted}`, actual);
  if (others.length > 0) return failed('MULTIPLE', `leave only the MX record of ${wanted}`, actual);
  return verified(actual);
}
