import { createPrivateKey, sign } from 'node:crypto';

const SECONDS = 3;
const IN_FLIGHT = 64;
/** As much as the fields of a mail that are signed come to. */
const SIGNED = Buffer.alloc(1_000, 'a header field and its value\r\n');

/** RSA signatures a second, on as many of libuv's threads as there are. */
export async function signaturesPerSecond({ privateKeyPem }: { privateKeyPem: string }): Promise<number> {
  const key = createPrivateKey(privateKeyPem);
  const began = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (performance.now() - began < SECONDS * 1_000) {
        await new Promise<void>((resolve, reject) => {
          sign('sha256', SIGNED, key, (error) => (error === null ? resolve() : reject(error)));
        });
        done += 1;
      }
    }),
  );
  return (done * 1_000) / (performance.now() - began);
}
