import { type ConsumerMessages, type JetStreamManager, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { SharedLog } from '#cluster/shared-log'
import type { World } from '#runtime/world'

export interface NatsLogOptions {
  readonly world: World
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
  readonly stream: string
  readonly subject: string
}

/** The answer to an append. A later one counts as none: the message comes back by the log, or is appended again. */
const answerMsMax = 5_000
/** The pause before the log is followed again after an error. */
const followAgainMs = 250

/** The shared log as a stream of NATS JetStream. */
export function natsLog({ world, connection, manager, stream, subject }: NatsLogOptions): SharedLog {
  const client = jetstream(connection, { timeout: answerMsMax })
  return {
    async append(message, after) {
      const { seq } = await client.publish(subject, message, { expect: { lastSubjectSequence: after }, retries: 0 })
      return seq
    },
    async lastSequence() {
      return (await manager.streams.info(stream)).state.last_seq
    },
    follow(after, receive) {
      let last = after
      let isFollowing = true
      let messages: ConsumerMessages | undefined
      const run = async () => {
        const consumer = await client.consumers.get(stream, { opt_start_seq: last + 1, filter_subjects: subject })
        messages = await consumer.consume()
        for await (const message of messages) {
          if (!isFollowing) break
          last = message.seq
          await receive(message.seq, message.data)
        }
      }
      const repeat = async () => {
        while (isFollowing && !connection.isClosed()) {
          // After an error the consumer is made again, from the next message on.
          await run().catch(() => {})
          if (isFollowing) await new Promise<void>((resolve) => world.after(followAgainMs, resolve))
        }
      }
      void repeat()
      return () => {
        isFollowing = false
        messages?.stop()
      }
    },
  }
}
