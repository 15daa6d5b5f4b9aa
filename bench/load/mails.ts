import { answerWith } from '#bench/harness/answering'
import { MailSink, type MailsSeen } from '#bench/load/mail-sink'

/** Where a server's mail goes, in a process of its own: what taking it costs is not the load's. */

let sink: MailSink

answerWith({
  async listen(port: number) {
    sink = await MailSink.open(port)
  },

  seen: (): MailsSeen => sink.seen,

  clear: () => sink.clear(),
})
