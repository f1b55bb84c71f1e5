import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { executableOf } from '../parts.js';

/** An entity of a message, as Python's email reads it. */
export interface PythonPart {
  /** The media types down to it: `multipart/mixed > text/plain`. */
  readonly path: string;
  readonly method: string | null;
  readonly charset: string | null;
  readonly disposition: string | null;
  readonly contentId: string | null;
  /** The file's name by today's rules, and by those of Python 3.2 and older (`compat32`). */
  readonly names: readonly [string | null, string | null];
  /** SHA-256 of the decoded content, hexadecimal; null for those that hold others. */
  readonly sha256: string | null;
}

export interface PythonMail {
  readonly headers: Readonly<Record<string, string>>;
  /** Addresses of To, Cc and Reply-To with their names. */
  readonly mailboxes: Readonly<Record<string, readonly (readonly [name: string, address: string])[]>>;
  readonly parts: readonly PythonPart[];
  /** Faults of the message and its headers. */
  readonly defects: readonly string[];
}

const PROGRAM = `
import email, email.policy, hashlib, json, sys
raw = sys.stdin.buffer.read()
mail = email.message_from_bytes(raw, policy=email.policy.default)
parts, defects = [], []

def look(part, old, path):
    path = path + [part.get_content_type()]
    defects.extend(repr(defect) for defect in part.defects)
    for name, value in part.items():
        defects.extend(name + ': ' + repr(defect) for defect in value.defects)
    holds = part.is_multipart()
    content = None if holds else part.get_payload(decode=True)
    parts.append({
        'path': ' > '.join(path), 'method': part.get_param('method'), 'charset': part.get_content_charset(),
        'disposition': part.get_content_disposition(), 'contentId': part['Content-ID'],
        'names': [part.get_filename(), old.get_filename()],
        'sha256': None if holds else hashlib.sha256(content).hexdigest()})
    if holds:
        for inner, old_inner in zip(part.get_payload(), old.get_payload()):
            look(inner, old_inner, path)

look(mail, email.message_from_bytes(raw), [])
mailboxes = {name: [[a.display_name, a.addr_spec] for a in mail[name].addresses] for name in ('To', 'Cc', 'Reply-To') if mail[name]}
json.dump({'headers': dict(mail.items()), 'mailboxes': mailboxes, 'parts': parts, 'defects': defects}, sys.stdout)
`;

/** Reads a message with the email package of Python's own library. */
export async function readWithPython(raw: Buffer): Promise<PythonMail> {
  const program = spawn(executableOf('python'), ['-c', PROGRAM], {
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  });
  program.stdin.end(raw);
  const [read, complaints, [code]] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'close') as Promise<[number]>,
  ]);
  if (code !== 0) throw new Error(`python3 ended with ${code}: ${complaints}`);
  return JSON.parse(read) as PythonMail;
}
