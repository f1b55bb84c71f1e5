import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';

/** A Postfix that hands all mail to a Dovecot, which has a mailbox for each domain. */
export interface Mailboxes {
  /** Port of the Postfix, on 127.0.0.1. */
  readonly port: number;
  /** Number of mails in the mailboxes. */
  count(): number;
  stop(): Promise<void>;
}

export interface MailboxPrograms {
  readonly postfix: string;
  readonly dovecot: string;
}

/** Postfix at its defaults but for where it delivers to. Needs root, from which both step back. */
export async function startMailboxes({ postfix, dovecot }: MailboxPrograms): Promise<Mailboxes> {
  const directory = mkdtempSync(join(tmpdir(), 'mailwright-mailboxes-'));
  const path = (...names: string[]) => join(directory, ...names);
  for (const name of ['etc', 'queue', 'mail', 'home']) mkdirSync(path(name));
  for (const name of ['', 'mail', 'home']) chmodSync(path(name), 0o777);
  const [port, lmtpPort] = [await freePort(), await freePort()];
  writeFileSync(path('dovecot.conf'), dovecotConfiguration(directory, lmtpPort));
  writeFileSync(path('etc/main.cf'), mainConfiguration(directory, lmtpPort));
  writeFileSync(path('etc/master.cf'), masterConfiguration(port));
  const servers = [
    spawn(dovecot, ['-F', '-c', path('dovecot.conf')], { stdio: 'ignore' }),
    spawn(postfix, ['-c', path('etc'), 'start-fg'], { stdio: 'ignore' }),
  ];
  const ended = servers.map((server) => once(server, 'exit'));
  for (const at of [lmtpPort, port]) await eventually(`${at} listens`, () => isListening(at));
  return {
    port,
    count: () =>
      readdirSync(path('mail')).reduce((sum, box) => sum + readdirSync(path('mail', box, 'new')).length, 0),
    stop: async () => {
      execFileSync(postfix, ['-c', path('etc'), 'stop'], { stdio: 'ignore' });
      servers[0]?.kill();
      await Promise.all(ended);
      rmSync(directory, { recursive: true });
    },
  };
}

const dovecotConfiguration = (directory: string, port: number): string => `
base_dir = ${directory}/run
state_dir = ${directory}/state
log_path = ${directory}/dovecot.log
protocols = lmtp
ssl = no
first_valid_uid = 1
mail_location = maildir:${directory}/mail/%d
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=${directory}/home allow_all_users=yes
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${port}
  }
}
`;

const mainConfiguration = (directory: string, lmtpPort: number): string => `
compatibility_level = 3.6
queue_directory = ${directory}/queue
data_directory = ${directory}/data
maillog_file = ${directory}/postfix.log
maillog_file_prefixes = ${directory}
myhostname = mta.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
default_transport = lmtp:inet:127.0.0.1:${lmtpPort}
`;

const masterConfiguration = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
pickup    unix  n       -       n       60      1       pickup
cleanup   unix  n       -       n       -       0       cleanup
qmgr      unix  n       -       n       300     1       qmgr
tlsmgr    unix  -       -       n       1000?   1       tlsmgr
rewrite   unix  -       -       n       -       -       trivial-rewrite
bounce    unix  -       -       n       -       0       bounce
defer     unix  -       -       n       -       0       bounce
trace     unix  -       -       n       -       0       bounce
proxymap  unix  -       -       n       -       -       proxymap
lmtp      unix  -       -       n       -       -       lmtp
error     unix  -       -       n       -       -       error
retry     unix  -       -       n       -       -       error
anvil     unix  -       -       n       -       1       anvil
scache    unix  -       -       n       -       1       scache
postlog   unix-dgram n  -       n       -       1       postlogd
`;
