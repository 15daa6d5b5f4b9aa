import { type ConsumerMessages, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { SharedLog } from '#cluster/shared-log'
import type { World } from '#runtime/world'

export interface NatsLogOptions {
  readonly world: World
  readonly connection: NatsConnection
  readonly stream: string
  readonly subject: string
}

/**
 * The longest wait for the answer to a request. A later answer to an append is ignored: the node receives the message
 * from the log, or appends it again.
 */
const answerMsMax = 1_000
/**
 * A consumer that sends nothing for twice this time is gone, for example because its server stopped. NATS accepts no
 * smaller value.
 */
const heartbeatMs = 500
/** How long one request for messages is valid. */
const requestMs = 5_000
/** The pause before the log is followed again after an error. */
const followAgainMs = 100

/** The shared log as a stream of NATS JetStream. */
export function natsLog({ world, connection, stream, subject }: NatsLogOptions): SharedLog {
  const client = jetstream(connection, { timeout: answerMsMax })
  // `false`: does not check first whether the servers answer.
  const manager = client.jetstreamManager(false)
  return {
    async append(message, after) {
      const options = { expect: { lastSubjectSequence: after }, retries: 0 }
      const { seq } = await withoutStacks(() => client.publish(subject, message, options))
      return seq
    },
    async lastSequence() {
      return (await (await manager).streams.info(stream)).state.last_seq
    },
    follow(after, receive) {
      let last = after
      let isFollowing = true
      let messages: ConsumerMessages | undefined
      // Reads stored messages from any server, which works even if the log has no leader and no consumer can be
      // created.
      const readStored = async () => {
        for (;;) {
          const message = await (await manager).direct.getMessage(stream, { seq: last + 1, next_by_subj: subject })
          if (!message || !isFollowing) return
          last = message.seq
          await receive(message.seq, message.data)
        }
      }
      const consume = async () => {
        const consumer = await client.consumers.get(stream, { opt_start_seq: last + 1, filter_subjects: subject })
        messages = await consumer.consume({ idle_heartbeat: heartbeatMs, expires: requestMs })
        void stopIfSilent(messages)
        for await (const message of messages) {
          if (!isFollowing) break
          last = message.seq
          await receive(message.seq, message.data)
        }
      }
      const repeat = async () => {
        while (isFollowing && !connection.isClosed()) {
          // After an error the consumer is made again, from the next message on.
          await readStored().catch(() => {})
          await consume().catch(() => {})
          if (isFollowing) await new Promise<void>((resolve) => world.after(followAgainMs, resolve))
        }
      }
      // After a lost connection, the library would ask for the consumer only every five seconds until the servers
      // answer.
      const stopIfDisconnected = async () => {
        for await (const { type } of connection.status()) {
          if (!isFollowing) break
          if (type === 'disconnect') messages?.stop()
        }
      }
      void repeat()
      void stopIfDisconnected()
      return () => {
        isFollowing = false
        messages?.stop()
      }
    },
  }
}

/** Stops at missed heartbeats: the library itself waits much longer for a consumer whose server is gone. */
async function stopIfSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'heartbeats_missed') messages.stop()
}

/**
 * Runs a call without stack traces. The library creates two errors for each request in advance, and their stacks would
 * cost more than the rest of the request.
 */
function withoutStacks<Result>(call: () => Result): Result {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return call()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
