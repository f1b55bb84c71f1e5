import Fastify from 'fastify';

/** Reference for the click redirect: Fastify, and an answer that leads elsewhere. */
const app = Fastify();
app.get('/l/:token', (_request, reply) => {
  void reply.code(302).header('location', 'https://acme.example/news?utm_source=mail').send();
});
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
if (address === null || typeof address === 'string')
  throw new Error('The reference does not listen on a port.');
process.send?.({ type: 'listening', port: address.port });
process.on('SIGTERM', () => process.exit(0));
