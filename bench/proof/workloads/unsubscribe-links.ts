import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { administrator } from '#bench/harness/identity'
import type { Change, Observed, Workload } from '#bench/proof/workloads/expected-state'
import { madeIdOf, slotsOf } from '#bench/proof/workloads/expected-state'
import { createMailFunction } from '#bench/proof/workloads/mails'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { reportChange } from '#bench/proof/workloads/reports'
import { localeOf } from '#bench/proof/workloads/resources'

/** Subscriptions that end by the link in a mail. */

/** Each has a function of its own that mails its reports. */
export const leftDevices = slotsOf('LEFT', 4)

/** The resource names of these functions. The administrator gets an e-mail address. */
export async function createLeftFunctions(api: ProofApi): Promise<readonly string[]> {
  const { name } = administrator
  await api.must('PATCH', `/iam/users/${name}`, { body: { email: `${name}@proof.example` } })
  const topics: string[] = []
  for (const device of leftDevices) topics.push(await createMailFunction(api, `mails of ${device}`, [device]))
  return topics
}

type Event = Readonly<Record<string, unknown>>

interface Row {
  readonly topic: string
  readonly locale: string
  readonly resourceIdentifier: string
}

/** `value`: the reported one. `link`: below `/api/v1`. */
interface Mail {
  readonly subscription: string
  readonly link: string
  readonly value: number
}

/**
 * The administrator subscribes, gets a mail about a report, and ends the subscription by its link: later reports are not
 * mailed. A used link ends no later subscription. `topics`: of `createLeftFunctions`. `gateway`: reports for any device.
 */
export function unsubscribeLinksWorkload(topics: readonly string[], gateway: string): Workload {
  const path = '/notifications/subscribe'
  const outbox = new Outbox()
  let locales = 0
  /** Ids of subscriptions that were asked to end; and those that ended, with a number above all that was reported before. */
  const ending = new Set<string>()
  const over = new Map<string, { readonly link: string; readonly number: number }>()
  return {
    name: 'unsubscribe links',
    slots: topics,
    eventText({ type, payload, resourceIdentifier }: Event) {
      if (type === 'NOTIFICATION_SUBSCRIBE') {
        const { topic, locale } = payload as { topic: string; locale: string }
        return topics.includes(topic) ? locale : undefined
      }
      const id = madeIdOf(String(resourceIdentifier))
      return type === 'NOTIFICATION_UNSUBSCRIBE' && id !== undefined && ending.has(id) ? `the end of ${id}` : undefined
    },
    prepare: ({ dataFolder }) => outbox.read(dataFolder),
    nextChange(topic, before, number, random): Change {
      if (!before) {
        const content = localeOf(locales++)
        const body = { topic, type: 'email', locale: content }
        return { method: 'POST', path, body, content, eventText: content }
      }
      const id = String(before.id)
      const link = outbox.linkOf(id)
      if (link === undefined) {
        const onAnswer = () => void outbox.read().catch(() => undefined)
        const report = reportChange(gateway, leftDevices[topics.indexOf(topic)] ?? '', number)
        return { ...report, content: before.content, onAnswer }
      }
      ending.add(id)
      const ended = { content: undefined, eventText: `the end of ${id}` }
      if (random.below(4) === 0) return { method: 'DELETE', path: `${path}/${id}`, ...ended }
      return { method: 'POST', path: link, ...oneClick, ...ended, onAnswer: () => void over.set(id, { link, number }) }
    },
    async observe(api) {
      const own = async () => (await api.rows<Row>(path)).filter(({ topic }) => topics.includes(topic))
      const rows = await own()
      const found = new Map<string, Observed>()
      for (const { topic, locale, resourceIdentifier } of rows) {
        const id = madeIdOf(resourceIdentifier)
        found.set(topic, { content: locale, ...(id !== undefined && { id }) })
      }
      if (api.isCopy) return found
      const [last] = [...over].slice(-1)
      // Not if the subscription is there again: the link would hide that.
      if (last && ![...found.values()].some(({ id }) => id === last[0])) {
        const { status } = await api.ask('POST', last[1].link, oneClick)
        if (status !== 204) throw new Error(`a link that was used before was answered ${status}`)
      }
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

/** Mails with a link; each file is read once. */
class Outbox {
  readonly mails: Mail[] = []
  readonly #seen = new Set<string>()
  #folder = ''

  linkOf(subscription: string): string | undefined {
    return this.mails.find((mail) => mail.subscription === subscription)?.link
  }

  /** Without a folder: the same server's as before. */
  async read(dataFolder?: string): Promise<void> {
    if (dataFolder !== undefined) this.#folder = join(dataFolder, 'outbox')
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith('.eml') || this.#seen.has(name)) continue
      this.#seen.add(name)
      const text = await readFile(join(this.#folder, name), 'latin1')
      const [, link, subscription] = /^List-Unsubscribe: <[^>]*\/api\/v1(\/[^>]*\/([^/?>]+)\?[^>]*)>/m.exec(text) ?? []
      if (link === undefined || subscription === undefined) continue
      this.mails.push({ subscription, link, value: Number(/^Subject: (\d+)/m.exec(text)?.[1]) })
    }
  }
}
