import { createTransport } from 'nodemailer';

/** Sends the same pre-rendered message N times through nodemailer's pool, and nothing else. */
const [url = '', mails = '0', connections = '5', raw = ''] = process.argv.slice(2);
const transport = createTransport({
  url,
  pool: true,
  maxConnections: Number(connections),
  maxMessages: Infinity,
});
const message = Buffer.from(raw, 'base64');
let next = 0;

async function client(): Promise<void> {
  while (next < Number(mails)) {
    next += 1;
    await transport.sendMail({
      envelope: { from: 'news@example.com', to: `reader-${next}@example.com` },
      raw: message,
    });
  }
}

const started = performance.now();
await Promise.all(Array.from({ length: Number(connections) * 2 }, client));
const seconds = (performance.now() - started) / 1_000;
const { user, system } = process.cpuUsage();
process.stdout.write(JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6 }));
transport.close();
