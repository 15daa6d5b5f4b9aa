import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { administrator } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import { reportOf } from '#bench/proof/clerks/device-kinds'
import { type Found, type LedgerKind, madeIdOf, type Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import { functionOn, localeOf } from '#bench/proof/clerks/rule-kinds'

/** Subscriptions that end by the link of a mail. */

/** Each has a function of its own, that mails what it reports. */
export const leftDevices = slotsOf('LEFT', 4)

/** The resource names of these functions. The administrator gets an address for their mails. */
export async function mailingTopics(api: ProofApi): Promise<readonly string[]> {
  const { name } = administrator
  await api.must('PATCH', `/iam/users/${name}`, { body: { email: `${name}@proof.example` } })
  const topics: string[] = []
  for (const device of leftDevices) {
    const body = { ...functionOn([device]), name: `mails of ${device}` }
    topics.push((await api.must<{ resourceIdentifier: string }>('POST', '/functions', { body })).resourceIdentifier)
  }
  return topics
}

type Event = Readonly<Record<string, unknown>>

interface Row {
  readonly topic: string
  readonly locale: string
  readonly resourceIdentifier: string
}

interface Mail {
  readonly subscription: string
  /** Below `/api/v1`. */
  readonly link: string
  /** What was reported. */
  readonly value: number
}

/**
 * The administrator subscribes, hears of a report by a mail, and ends the subscription by the link in it: of what is reported
 * then there is no mail. A link that was used ends nothing else later. `topics`: resource names of the functions of
 * `leftDevices`. `gateway`: speaks for any device.
 */
export function unsubscribingKind(topics: readonly string[], gateway: string): LedgerKind {
  const path = '/notifications/subscribe'
  const outbox = new Outbox()
  let locales = 0
  /** Subscriptions that somebody wanted to end, and by the mails' links those that did, with a number behind all that was reported. */
  const ending = new Set<string>()
  const over = new Map<string, { readonly link: string; readonly number: number }>()
  return {
    name: 'subscriptions ended by a mail',
    slots: topics,
    told({ type, payload, resourceIdentifier }: Event) {
      if (type === 'NOTIFICATION_SUBSCRIBE') {
        const { topic, locale } = payload as { topic: string; locale: string }
        return topics.includes(topic) ? locale : undefined
      }
      const id = madeIdOf(String(resourceIdentifier))
      return type === 'NOTIFICATION_UNSUBSCRIBE' && id !== undefined && ending.has(id) ? `the end of ${id}` : undefined
    },
    async begin({ dataFolder }) {
      await outbox.read(dataFolder)
    },
    wish(topic, before, number, random): Wish {
      if (!before) {
        const held = localeOf(locales++)
        return { method: 'POST', path, body: { topic, type: 'email', locale: held }, held, told: held }
      }
      const id = String(before.id)
      const link = outbox.linkOf(id)
      if (link === undefined) {
        const body = reportOf(leftDevices[topics.indexOf(topic)] ?? '', number)
        const headers = { authorization: gateway }
        const heard = () => void outbox.read().catch(() => undefined)
        return { method: 'POST', path: '/link', headers, body, held: before.held, heard, isOnceOnly: true }
      }
      ending.add(id)
      const told = `the end of ${id}`
      if (random.below(4) === 0) return { method: 'DELETE', path: `${path}/${id}`, held: undefined, told }
      const heard = () => void over.set(id, { link, number })
      return { method: 'POST', path: link, ...oneClick, held: undefined, told, heard }
    },
    async look(api) {
      const own = async () => (await api.rows<Row>(path)).filter(({ topic }) => topics.includes(topic))
      const rows = await own()
      const found = new Map<string, Found>()
      for (const { topic, locale, resourceIdentifier } of rows) {
        const id = madeIdOf(resourceIdentifier)
        found.set(topic, { held: locale, ...(id !== undefined && { id }) })
      }
      if (api.isCopy) return found
      const [last] = [...over].slice(-1)
      // One that is there again is not to be made good by that.
      const isGone = last && ![...found.values()].some(({ id }) => id === last[0])
      if (isGone) await mustBeDone(api.ask('POST', last[1].link, oneClick))
      if ((await own()).length !== rows.length)
        throw new Error('a link that was used before ended another subscription')
      await outbox.read(api.dataFolder)
      const late = outbox.mails.find(({ subscription, value }) => value > (over.get(subscription)?.number ?? Infinity))
      if (late) throw new Error(`${late.subscription} had ended, and there is a mail of ${late.value}, reported later`)
      return found
    },
  }
}

/** As mail programs send it, without signing in. RFC 8058. */
const oneClick = {
  headers: { authorization: '', 'content-type': 'application/x-www-form-urlencoded' },
  body: Buffer.from('List-Unsubscribe=One-Click'),
}

async function mustBeDone(asked: Promise<HttpAnswer>): Promise<void> {
  const { status } = await asked
  if (status !== 204) throw new Error(`a link that was used before was answered ${status}`)
}

/** Mails with a link, each file read once. */
class Outbox {
  readonly mails: Mail[] = []
  readonly #seen = new Set<string>()
  #folder = ''

  linkOf(subscription: string): string | undefined {
    return this.mails.find((mail) => mail.subscription === subscription)?.link
  }

  /** Of the same server as before, unless another one's folder is given. */
  async read(dataFolder?: string): Promise<void> {
    if (dataFolder !== undefined) this.#folder = join(dataFolder, 'outbox')
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith('.eml') || this.#seen.has(name)) continue
      this.#seen.add(name)
      const mail = mailIn(await readFile(join(this.#folder, name), 'latin1'))
      if (mail) this.mails.push(mail)
    }
  }
}

function mailIn(text: string): Mail | undefined {
  const [, link, subscription] = /^List-Unsubscribe: <[^>]*\/api\/v1(\/[^>]*\/([^/?>]+)\?[^>]*)>/m.exec(text) ?? []
  if (link === undefined || subscription === undefined) return undefined
  return { link, subscription, value: Number(/^Subject: (\d+)/m.exec(text)?.[1]) }
}
