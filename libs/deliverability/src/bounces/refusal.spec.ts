import { describe, expect, it } from '@jest/globals';
import { CONSEQUENCES } from './bounce-class.js';
import { classifyRefusal } from './refusal.js';

/** Replies of real servers, one line each: basic code, enhanced code, text, class. */
const SAMPLES: readonly [number, string | null, string, string][] = [
  [550, '5.1.1', 'The email account that you tried to reach does not exist.', 'hard'],
  [550, '5.1.10', 'RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup', 'hard'],
  [556, '5.1.10', 'Recipient address has null MX', 'hard'],
  [550, '5.2.1', 'The email account that you tried to reach is disabled.', 'hard'],
  [550, null, 'No such user here', 'hard'],
  [550, null, 'Requested action not taken: mailbox unavailable; user unknown', 'hard'],
  [552, '5.2.2', 'The email account that you tried to reach is over quota.', 'mailbox'],
  [452, '4.2.2', 'The email account that you tried to reach is over quota.', 'mailbox'],
  [450, null, 'Requested mail action not taken', 'mailbox'],
  [550, '5.7.1', 'Our system has detected that this message is likely unsolicited mail.', 'policy'],
  [421, '4.7.0', 'Temporary system problem. Try again later.', 'policy'],
  [554, null, 'Service unavailable; Client host blocked using zen.spamhaus.org', 'policy'],
  [550, '5.1.8', "Sender's address has no valid MX", 'sender'],
  [530, '5.7.0', 'Authentication required', 'sender'],
  [550, '5.7.1', 'Email rejected per DMARC policy for shop.example', 'sender'],
  [550, '5.7.23', 'The message was rejected because of Sender Policy Framework violation', 'sender'],
  [554, null, 'Sender address rejected: Domain not found', 'sender'],
  [450, null, 'Recipient address rejected: User unknown in local recipient table', 'mailbox'],
  [450, '4.1.1', 'Recipient address rejected: unverified address', 'mailbox'],
  [550, '5.2.1', 'The user you are trying to contact is receiving mail too quickly', 'mailbox'],
  [550, '5.4.4', 'Host or domain name not found. Name service error for name=gone.example', 'hard'],
  [550, '5.4.4', 'unable to route', 'unknown'],
  [450, '4.7.1', 'Greylisted, please try again', 'policy'],
  [552, null, 'sorry, that message size exceeds my databytes limit', 'content'],
  [535, null, 'Authentication failed', 'sender'],
  [552, '5.3.4', 'Message size exceeds fixed limit', 'content'],
  [554, '5.6.0', 'Message contents rejected', 'content'],
  [421, null, 'Service not available, closing transmission channel', 'network'],
  [451, '4.3.0', 'Temporary lookup failure', 'network'],
  [451, '4.4.2', 'Timeout waiting for input', 'network'],
  [554, null, 'Transaction failed', 'unknown'],
  // Words that look like a dead address, and are none.
  [550, null, 'Delivery to recipient failed: unknown error', 'unknown'],
  [550, null, 'The recipient server closed the connection', 'unknown'],
  [550, null, 'recipient address: delivery time expired', 'network'],
  [554, null, 'Rejected: unknown client address', 'sender'],
  [554, '5.1.1', 'IP address 192.0.2.1 unknown', 'sender'],
  [550, null, 'invalid HELO address', 'sender'],
  [550, '5.1.1', 'Mail from domain shop.example does not exist', 'sender'],
  [550, null, 'Your account has been suspended', 'sender'],
  [550, '5.1.1', 'User temporarily suspended, too many messages this hour', 'policy'],
  [550, null, 'User account is temporarily disabled', 'mailbox'],
  [521, '5.7.1', 'Service unavailable; client [192.0.2.1] blocked using zen.spamhaus.org', 'policy'],
  [521, '5.2.1', 'AOL will not accept delivery of this message', 'policy'],
  [552, '5.1.1', 'max message size exceeded', 'content'],
  [550, '5.7.13', 'User account disabled', 'policy'],
  // And words that look like something else, of a dead one.
  [550, '5.1.1', 'User unknown. For full details see https://mail.example/errors', 'hard'],
  [550, null, 'Mailbox does not exist; full details below', 'hard'],
  [550, null, 'unknown or illegal user: ada', 'hard'],
  [550, null, 'This account has been disabled or discontinued', 'hard'],
  [550, null, 'The mailbox is closed', 'hard'],
  [550, null, 'user doesn’t exist', 'hard'],
  [550, null, 'No \r\n such user', 'hard'],
  // Words of senders, policy, content, networks and capacity, beside the code of a dead address.
  [550, '5.1.1', 'Relaying denied. Proper authentication required.', 'sender'],
  [550, '5.1.1', 'You must use TLS to talk to this server', 'sender'],
  [550, '5.1.1', 'unauthorized sender', 'sender'],
  [550, '5.1.1', 'Rejected due to spam', 'policy'],
  [550, '5.1.1', 'Access denied', 'policy'],
  [550, '5.1.1', 'Rejected by DMARC policy', 'sender'],
  [550, '5.2.1', 'Please try again later', 'network'],
  [550, '5.1.1', 'Please try again later', 'network'],
  [550, '5.1.1', 'Attachments of this kind are not taken', 'content'],
  [550, '5.1.1', 'Access denied: user unknown', 'hard'],
  [550, '5.2.1', 'Mailbox disabled temporarily', 'mailbox'],
  [550, '5.2.1', 'Account suspended temporarily, try again later', 'mailbox'],
  [550, '5.2.1', 'Mailbox disabled', 'hard'],
  [550, '5.1.1', 'Destinatario desconocido o mailbox lleno', 'mailbox'],
  [550, '5.1.1', 'Destinatario desconocido', 'hard'],
  [550, '5.1.1', 'User unknown: LDAP server unavailable', 'network'],
  [501, '5.5.4', 'Invalid domain name', 'sender'],
  [550, '5.1.2', 'Invalid domain name', 'hard'],
  [550, '5.1.1', 'Sorry', 'hard'],
  // A dead address in words that other words or a code hide.
  [550, null, 'ann@example.org...User unknown', 'hard'],
  [550, '5.7.1', 'Recipient address rejected: Nonexistent user', 'hard'],
  [550, '5.7.17', 'Sorry, no mailbox here by that name. (#5.7.17)', 'hard'],
  [550, null, 'unrouteable mail domain "gone.example"', 'hard'],
  [550, null, 'Recipient Rejected: No account by that name here', 'hard'],
  [550, null, 'Esta cuenta ha expirado por falta de uso', 'hard'],
  [550, null, 'mailbox ann@example.org unavailable', 'hard'],
  [550, '5.1.0', '#5.1.0 Address rejected. (in reply to RCPT TO command)', 'hard'],
  [550, '5.1.0', 'Address rejected by our filter', 'policy'],
  // A full one.
  [550, null, 'Delivery has failed due to a full mailbox', 'mailbox'],
  [550, null, 'The mailbox does not have enough space for this message', 'mailbox'],
  // The enhanced code says for how long, and both it and the basic one may be missing.
  [550, '4.9.9', 'No such user here', 'unknown'],
  [0, '5.9.9', 'No such user here', 'hard'],
  [0, null, 'No such user here', 'unknown'],
  // Names of hosts, addresses and codes say nothing.
  [550, null, 'host blacklist.example[192.0.2.1] said: sorry', 'unknown'],
  [550, null, 'Host BLACKLIST.example [2001:db8::1]: sorry', 'unknown'],
  [550, null, 'host mx.example[192.0.2.1] said: client blocked by blacklist.example', 'policy'],
  [550, null, 'no-such-user@blacklist.example: sorry', 'unknown'],
  [550, null, 'blacklist.a@mx.example: sorry', 'unknown'],
  [550, null, 'ada@my-blacklist.example: sorry', 'unknown'],
  [550, null, '<ada@blacklist.example>: No such user here', 'hard'],
  [550, null, "5.1.0 - Unknown address error '550 sorry'", 'unknown'],
  [550, null, "4.4.0 - Unknown Address error '450 sorry'", 'unknown'],
  [550, null, '5.1.0 - Unknown address error 550 sorry', 'hard'],
  [550, null, "5.1.0 - Unknown address error '550 Message blocked as spam'", 'policy'],
];

describe('classifyRefusal', () => {
  it.each(SAMPLES)('reads %s %s "%s" as %s', (code, enhancedCode, text, expected) => {
    expect(classifyRefusal({ code, enhancedCode, text })).toBe(expected);
  });
});

describe('an address whose mail was refused', () => {
  it.each([
    ['hard', 'suppress'],
    ['mailbox', 'suppress-after-streak'],
    ['policy', 'keep'],
    ['sender', 'keep'],
    ['content', 'keep'],
    ['network', 'keep'],
    ['unknown', 'keep'],
  ] as const)('as %s is treated by: %s', (found, consequence) => {
    expect(CONSEQUENCES[found].address).toBe(consequence);
  });
});
