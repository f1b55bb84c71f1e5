import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { localhostCertificate } from '#testing/servers/localhost-certificate';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { type SmtpSinkOptions, startSmtpSink } from '#testing/mail/smtp-sink';
import type { SendOutcome } from './mail-transport.js';
import { SmtpTransport } from './smtp-transport.js';

const credentials = { user: 'mail@sender.test', pass: 'p:a/s s@w?o%rd' };
const raw = Buffer.from('Message-ID: <1@sender.test>\r\nSubject: Hello\r\n\r\n.Hello\r\n');

const sinks: SmtpSink[] = [];

async function relay(options: SmtpSinkOptions): Promise<SmtpSink> {
  const sink = await startSmtpSink(options);
  sinks.push(sink);
  return sink;
}

async function sendOneTo(url: string): Promise<SendOutcome> {
  const timeouts = { connect: 10_000, greeting: 10_000, reply: 10_000, data: 10_000 };
  const transport = new SmtpTransport({
    url,
    connections: 1,
    messagesPerConnection: 10,
    ehloName: 'worker.test',
    timeouts,
  });
  const outcome = await transport.send({
    envelopeFrom: 'b@sender.test',
    envelopeTo: 'ada@example.test',
    raw,
  });
  await transport.close();
  return outcome;
}

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.stop()));
});

describe('encryption', () => {
  it.each<[string, SmtpSinkOptions['tls'], string]>([
    ['STARTTLS where it is offered', 'starttls', '?rejectUnauthorized=false'],
    ['STARTTLS where it is required', 'starttls', '?tls=required&rejectUnauthorized=false'],
    ['implicit TLS', 'implicit', '?rejectUnauthorized=false'],
  ])('is by %s', async (_, tls, parameters) => {
    const sink = await relay({ tls });
    expect(await sendOneTo(sink.url + parameters)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages).toMatchObject([{ secure: true, raw }]);
  });

  it.each<[string, SmtpSinkOptions['tls'], string]>([
    ['where STARTTLS is not offered', 'off', ''],
    ['where tls=off says so', 'starttls', '?tls=off'],
  ])('is left out %s', async (_, tls, parameters) => {
    const sink = await relay({ tls });
    expect(await sendOneTo(sink.url + parameters)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages).toMatchObject([{ secure: false, raw }]);
  });

  it('that is required and not offered makes the route unavailable', async () => {
    const sink = await relay({ tls: 'off' });
    expect(await sendOneTo(`${sink.url}?tls=required`)).toMatchObject({
      kind: 'route-unavailable',
      stage: 'tls',
    });
    expect(sink.count()).toBe(0);
  });

  it.each<SmtpSinkOptions['tls']>(['starttls', 'implicit'])(
    'by %s with a certificate that nobody vouches for makes the route unavailable',
    async (tls) => {
      const sink = await relay({ tls });
      expect(await sendOneTo(sink.url)).toMatchObject({ kind: 'route-unavailable', stage: 'tls' });
      expect(sink.count()).toBe(0);
    },
  );

  it.each<SmtpSinkOptions['tls']>(['starttls', 'implicit'])(
    'by %s checks a trusted certificate',
    async (tls) => {
      const before = getCACertificates('default');
      setDefaultCACertificates([...before, localhostCertificate.cert]);
      try {
        const sink = await relay({ tls });
        expect(await sendOneTo(sink.url)).toMatchObject({ kind: 'accepted' });
        expect(sink.messages).toMatchObject([{ secure: true }]);
      } finally {
        setDefaultCACertificates(before);
      }
    },
  );
});

describe('authentication', () => {
  it.each<[SmtpSinkOptions['tls'], string]>([
    ['off', ''],
    ['starttls', '?rejectUnauthorized=false'],
  ])('with the right credentials is done (tls %s)', async (tls, parameters) => {
    const sink = await relay({ tls, credentials });
    expect(await sendOneTo(sink.url + parameters)).toMatchObject({ kind: 'accepted' });
    expect(sink.messages).toMatchObject([{ secure: tls === 'starttls' }]);
  });

  it('with the wrong password makes the route unavailable, and the password is not repeated', async () => {
    const sink = await relay({ credentials });
    const outcome = await sendOneTo(`smtp://user:wrong-password@127.0.0.1:${sink.port}`);
    expect(outcome).toMatchObject({
      kind: 'route-unavailable',
      stage: 'auth',
      detail: expect.stringContaining('535'),
    });
    expect(JSON.stringify(outcome)).not.toContain('wrong-password');
  });

  it('that the relay wants and nobody configured makes the route unavailable, not the message undeliverable', async () => {
    const sink = await relay({ credentials });
    const outcome = await sendOneTo(`smtp://127.0.0.1:${sink.port}`);
    expect(outcome).toMatchObject({
      kind: 'route-unavailable',
      stage: 'auth',
      detail: expect.stringContaining('530'),
    });
  });

  it('that is configured and the relay does not offer makes the route unavailable', async () => {
    const sink = await relay({});
    const outcome = await sendOneTo(`smtp://user:password@127.0.0.1:${sink.port}`);
    expect(outcome).toMatchObject({ kind: 'route-unavailable', stage: 'auth' });
    expect(sink.count()).toBe(0);
  });

  it('that the relay drops makes the route unavailable', async () => {
    const sink = await relay({ credentials });
    sink.behave({ at: 'auth', action: 'drop' });
    expect(await sendOneTo(sink.url)).toMatchObject({ kind: 'route-unavailable', stage: 'auth' });
  });
});
