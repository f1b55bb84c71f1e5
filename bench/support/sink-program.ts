import { EXTENSIONS, startRawSmtpSink } from '#testing/raw-smtp-sink';

const extensions = process.argv.includes('--chunking') ? [...EXTENSIONS, 'CHUNKING'] : EXTENSIONS;
const sink = await startRawSmtpSink({ keep: 'index', extensions });
process.on('message', () => process.send?.(sink.count()));
process.on('disconnect', () => void sink.stop().then(() => process.exit(0)));
process.send?.(sink.url);
