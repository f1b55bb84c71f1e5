import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { samplesOf } from '#testing/fixtures/code-samples';
import { freePort } from '#testing/programs/ports';
import { projectRoot } from '../../../libs/platform/src/project-root.js';
import { executableOf } from '../parts.js';
import { instanceSettings, lines, runPostfix, SERVICES } from './postfix.js';
import { type ServerProcess, serverDirectory } from './server-process.js';
import { RETURN_PATHS } from './whole-way.js';

const PAGE = 'docs/relays/postfix.md';
const RUN_HERE = 'test/real/relays.spec.ts runs it';

/** The names of the page. */
export const HOST = 'mta.acme.example';
export const USER = `acme@${HOST}`;

/** The Postfix that docs/relays/postfix.md sets up: its commands are run as they stand there, for a directory of its own. */
export class PostfixOfPage {
  readonly certificateFile: string;

  private constructor(
    private readonly directory: string,
    private readonly configuration: string,
    readonly port: number,
    readonly password: string,
  ) {
    this.certificateFile = join(configuration, 'relay.crt');
  }

  /** Makes its certificate, its user and its configuration. */
  static async setUp(bouncePort: number): Promise<PostfixOfPage> {
    const directory = serverDirectory('postfix-page');
    const configuration = join(directory, 'etc');
    for (const name of [configuration, join(directory, 'queue')]) mkdirSync(name);
    writeFileSync(join(configuration, 'master.cf'), `${SERVICES}smtp inet n - n - - smtpd\n`);
    const port = await freePort();
    const script = commandsOfPage()
      .replaceAll('/etc/postfix', configuration)
      .replaceAll('[10.0.0.5]:2525', `[127.0.0.1]:${bouncePort}`)
      .replaceAll('bounce.acme.example', RETURN_PATHS)
      .replaceAll('submission', `127.0.0.1:${port}`);
    const output = execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      env: { ...process.env, MAIL_CONFIG: configuration, PATH: `${pathOfServers()}:${process.env['PATH']}` },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [, password = ''] = /^The password of \S+: (\w+)$/m.exec(output) ?? [];
    return new PostfixOfPage(directory, configuration, port, password);
  }

  /** Starts it. Mail that it does not return to the bounce server goes to this port, wherever it is addressed to. */
  start(everywhere: number): Promise<ServerProcess> {
    const settings = instanceSettings(this.directory, everywhere);
    appendFileSync(join(this.configuration, 'main.cf'), lines(settings));
    return runPostfix(this.directory, this.configuration, this.port);
  }
}

function commandsOfPage(): string {
  const samples = samplesOf(PAGE, readFileSync(join(projectRoot(), PAGE), 'utf8'));
  return samples
    .filter(({ notRunBecause }) => notRunBecause === RUN_HERE)
    .map(({ code }) => code)
    .join('');
}

/** Directory in which Debian has the commands that only root needs. */
function pathOfServers(): string {
  return join(executableOf('postfix'), '..');
}
