// `npm run cli --` of the documentation's samples: one command of the operator's program, run in the shared system.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') && name !== 'MAILWRIGHT_TEST_SHARED_SYSTEM',
  ),
);
const response = await fetch(`${process.env.MAILWRIGHT_TEST_SHARED_SYSTEM}/cli`, {
  method: 'POST',
  body: JSON.stringify({ environment, args: process.argv.slice(2) }),
});
const { exitCode, stdout, stderr } = await response.json();
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = exitCode;
