import { z } from 'zod';
import { type EmailAddress, parseEmailAddress } from '#kernel';

/** RFC 6531 addresses, too, which JSON Schema's `email` excludes (draft 2020-12 validation §7.3.2). */
const EMAIL = { format: 'idn-email', example: 'ada@example.com' } as const;

const parsedAddress = z
  .string()
  .meta(EMAIL)
  .transform((input, context): EmailAddress => {
    const result = parseEmailAddress(input);
    if ('address' in result) return result.address;
    context.issues.push({ code: 'custom', message: result.fault, input });
    return z.NEVER;
  });

/** A body field that holds an e-mail address; the output is the kernel's `EmailAddress`. */
export const emailField = parsedAddress;

/** A path parameter that holds an e-mail address: `@Param('email', { schema: emailParam })`. */
export const emailParam = parsedAddress;

/** An e-mail address in an answer, as it was given. */
export const emailText = z.string().meta(EMAIL);

/** A point in time in an answer: ISO 8601 in UTC with milliseconds and `Z`, as `Date.toISOString` writes it. */
export const timestamp = z.string().meta({ format: 'date-time', example: '2026-11-21T06:00:00.000Z' });

/** A whole number of 64 bits in an answer, written as a JSON number. */
export const int64 = z.int().meta({ format: 'int64' });

/** A UUID in an answer. */
export const uuid = z.string().meta({ format: 'uuid', example: '019aa3b5-0000-7000-8000-000000000000' });
