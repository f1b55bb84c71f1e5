import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';

const sink = await startRawSmtpSink({ keep: 'index' });
process.on('message', () => process.send?.(sink.count()));
process.on('disconnect', () => void sink.stop().then(() => process.exit(0)));
process.send?.(sink.url);
