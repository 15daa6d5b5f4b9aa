import { asked, bringIn, readToken } from '#bench/harness/identity'

const requestsAtOnce = 16

export interface SubscribersSpec {
  readonly port: number
  /** Of who brings them in. */
  readonly person: string
  readonly count: number
  /** The resource name of a function. */
  readonly topic: string
}

/** So many people with an account and an address, each subscribed to one function. */
export async function bringInSubscribers({ port, person, count, topic }: SubscribersSpec): Promise<void> {
  let next = 0
  const bringInMore = async () => {
    while (next < count) {
      const name = `subscriber${next++}`
      const who = await bringIn(port, person, { name, role: 'viewer', email: `${name}@load.example` })
      const token = await readToken(port, who)
      const body = { topic, type: 'email', locale: 'en' }
      await asked(port, '/notifications/subscribe', { person: `Bearer ${token}`, body })
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, bringInMore))
}
