import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith, executableOf } from './parts.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './support/server-process.js';

describeWith(['collector'], 'the collector of OpenTelemetry', () => {
  let directory: string;
  let collector: ServerProcess;
  let system: RunningSystem;

  beforeAll(async () => {
    directory = serverDirectory('collector');
    const port = await freePort();
    const config = join(directory, 'config.yaml');
    // JSON is YAML.
    const text = JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { debug: { verbosity: 'detailed' } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
      },
    });
    writeFileSync(config, text);
    const args = ['--config', `file:${config}`];
    collector = await startServerProcess({ command: executableOf('collector'), args, port, directory });
    system = await startSystem({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  });

  afterAll(async () => {
    await system?.stop();
    await collector?.stop();
  });

  /** Spans as the collector wrote them. */
  const spans = () =>
    readFileSync(join(directory, 'output'), 'utf8')
      .split(/^Span #\d+$/m)
      .slice(1)
      .map((text) => ({
        text,
        name: /^ {4}Name +: (.*)$/m.exec(text)?.[1],
        trace: /^ {4}Trace ID +: (\w+)$/m.exec(text)?.[1],
        id: /^ {4}ID +: (\w+)$/m.exec(text)?.[1],
        parent: /^ {4}Parent ID +: (\w*)$/m.exec(text)?.[1],
      }));

  it('takes the trace of a message, from the request to the mail', async () => {
    const client = await (await system.project()).client('TEST');
    const sent = await client.post('/messages', {
      to: 'ada@example.com',
      purpose: 'It was asked for.',
      subject: 'Hello',
      text: 'Hello.',
    });
    expect(sent.status).toBe(202);
    const mail = await eventually('the mail', () => spans().find(({ name }) => name === 'mail'));
    expect(mail.text).toContain(`mailwright.delivery_id: Str(${sent.at('id')})`);
    const request = await eventually('the request', () => spans().find(({ id }) => id === mail.parent));
    expect(request).toMatchObject({ name: 'POST /api/v1/messages', trace: mail.trace, parent: '' });
    expect(request.text).toContain('http.response.status_code: Int(202)');
    expect(readFileSync(join(directory, 'output'), 'utf8')).not.toContain('ada@example.com');
  });
});
