import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readState, type StreamPosition } from '#bench/dashboard'
import { administrator, asked, bringIn, gateway, readToken } from '#bench/harness/identity'
import { boundSeats, boundSessionsKind } from '#bench/proof/clerks/bound-sessions'
import {
  actionsKind,
  alarmedDevices,
  comingDevices,
  floodedDevice,
  madeDevicesKind,
  mailedDevice,
  mailedReportsKind,
  metaKind,
  notedDevices,
  reportsKind,
  schemasKind,
  secretDevices,
  secretsKind,
} from '#bench/proof/clerks/device-kinds'
import { barredPeople, disabledUsersKind } from '#bench/proof/clerks/disabled-users'
import { endedSessionsKind, signedOutPeople } from '#bench/proof/clerks/ended-sessions'
import { pinsKind, releasesKind, rolloutsKind } from '#bench/proof/clerks/firmware-kinds'
import { forgetfulPeople, freshCodesKind } from '#bench/proof/clerks/fresh-codes'
import { imagePartsKind } from '#bench/proof/clerks/image-parts'
import { Ledger, type LedgerCounts, type LedgerKind } from '#bench/proof/clerks/ledger'
import { isLinked, LinkedDevices, linkedActionsKind, linkedWritesKind } from '#bench/proof/clerks/linked-kinds'
import {
  changedPasswords,
  firstPassword,
  invitationsKind,
  passwordsKind,
  rolesKind,
  seats,
  sessionsKind,
  tenantsKind,
  usersKind,
} from '#bench/proof/clerks/people-kinds'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import {
  alarmsKind,
  alarmTurnsKind,
  apiKeysKind,
  functionOn,
  functionsKind,
  groupsKind,
  mailTemplate,
  provisioningKeysKind,
  subscriptionsKind,
  templatesKind,
  topicNames,
  turningAlarm,
} from '#bench/proof/clerks/rule-kinds'
import { codedPeople, secondFactorsKind } from '#bench/proof/clerks/second-factors'
import { signingKeysKind } from '#bench/proof/clerks/signing-keys'
import { leftDevices, mailingTopics, unsubscribingKind } from '#bench/proof/clerks/unsubscribing'
import { askedUpdatesKind, hookedUpdatesKind, makeUpdates } from '#bench/proof/clerks/update-kinds'
import { UpdatingDevices } from '#bench/proof/clerks/updating-devices'
import { waitingAlarm, waitingAlarmsKind, waitingDevices } from '#bench/proof/clerks/waiting-kind'
import type { SeededRandom } from '#bench/random'

/** The kinds of write that come over HTTP, a clerk for each slot, and the books about them. CONTRIBUTING.md says what is left out. */
export class Office {
  readonly authorization: string
  /** From where on the administrator hears everything. */
  readonly first: StreamPosition
  readonly ledgers: readonly Ledger[]
  readonly #mails: Mails
  readonly #flood: (megabytes: number, isOver: () => boolean) => Promise<void>
  readonly #mailed: Ledger
  readonly #linked: LinkedDevices
  readonly #updating: UpdatingDevices

  private constructor(
    api: ProofApi,
    kinds: readonly LedgerKind[],
    mailed: LedgerKind,
    where: OfficePlace & {
      readonly first: StreamPosition
      readonly gateway: string
      readonly linked: LinkedDevices
      readonly updating: UpdatingDevices
    },
  ) {
    this.#flood = (megabytes, isOver) => flood(api, where.gateway, megabytes, isOver)
    this.authorization = api.authorization
    this.first = where.first
    this.#mails = new Mails(where.dataFolder)
    this.#linked = where.linked
    this.#updating = where.updating
    let number = 0
    const next = () => ++number
    const { random, pauseTimes } = where
    const ledgerOf = (kind: LedgerKind) => new Ledger(kind, api, random, next, pauseTimes)
    this.#mailed = ledgerOf(mailed)
    this.ledgers = [...kinds.map(ledgerOf), this.#mailed]
  }

  /** Makes what the clerks need to be there. */
  static async open(where: OfficePlace): Promise<Office> {
    const { port } = where
    const person = `Bearer ${await readToken(port, administrator)}`
    const api = new ProofApi(`http://127.0.0.1:${port}`, person, where.dataFolder)
    const { key } = await asked<{ key: string }>(port, '/iam/provisioning-keys', { person, body: { name: 'Clerks' } })
    const accounts = [...codedPeople, ...forgetfulPeople, ...barredPeople, ...signedOutPeople]
    for (const name of [...changedPasswords, ...seats, ...boundSeats, ...accounts]) await signUp(api, name)
    const body = { locales: { en: { subject: '{{value}}', text: '{{value}}' } } }
    await api.must('PUT', `/templates/${mailTemplate}`, { body })
    const topics: string[] = []
    for (const name of topicNames) {
      const topic = { ...functionOn(notedDevices), enabled: false, name }
      topics.push((await api.must<Made>('POST', '/functions', { body: topic })).resourceIdentifier)
    }
    const mailing = { ...functionOn([mailedDevice]), name: 'mailing' }
    const { resourceIdentifier: topic } = await api.must<Made>('POST', '/functions', { body: mailing })
    const leaving = await mailingTopics(api)
    const reader = await bringIn(port, person, { name: 'reader', role: 'viewer', email: 'reader@proof.example' })
    const headers = { authorization: `Bearer ${await readToken(port, reader)}` }
    await api.must('POST', '/notifications/subscribe', { headers, body: { topic, type: 'email', locale: 'en' } })
    // All that somebody else heard lies before this, and all devices behind it.
    const first = (await readState(`http://127.0.0.1:${port}`, person)).position
    for (const deviceIdentifier of [...notedDevices, ...secretDevices])
      await api.must('POST', '/devices', { body: { deviceIdentifier } })
    const { resourceIdentifier: alarm } = await api.must<Made>('POST', '/alarms', { body: turningAlarm })
    const { resourceIdentifier: waiting } = await api.must<Made>('POST', '/alarms', { body: waitingAlarm })
    const link = gateway(key)
    const linked = new LinkedDevices(api.url, key)
    await makeUpdates(api)
    const updating = new UpdatingDevices({ url: api.url, authorization: link, random: where.random })
    updating.start()
    const kinds = [
      schemasKind(),
      metaKind(),
      reportsKind(link),
      madeDevicesKind(),
      secretsKind(),
      actionsKind(),
      linkedWritesKind(linked),
      linkedActionsKind(linked),
      rolesKind(),
      usersKind(),
      invitationsKind(),
      passwordsKind(),
      sessionsKind(),
      boundSessionsKind(),
      endedSessionsKind(),
      secondFactorsKind(),
      freshCodesKind(),
      disabledUsersKind(),
      apiKeysKind(),
      provisioningKeysKind(),
      tenantsKind(),
      groupsKind(),
      alarmsKind(),
      alarmTurnsKind(link, alarm),
      functionsKind(),
      templatesKind(),
      subscriptionsKind(topics),
      unsubscribingKind(leaving, link),
      releasesKind(),
      imagePartsKind(),
      pinsKind(),
      rolloutsKind(),
      signingKeysKind(),
      waitingAlarmsKind(link, waiting),
      askedUpdatesKind(updating),
      hookedUpdatesKind(updating),
    ]
    return new Office(api, kinds, mailedReportsKind(link), { ...where, first, gateway: link, linked, updating })
  }

  /** Its devices leave their links. What is looked at from then on are copies. */
  end(): Promise<void> {
    this.#updating.end()
    return this.#linked.end()
  }

  async work(isOver: () => boolean): Promise<void> {
    await Promise.all(this.ledgers.map((ledger) => ledger.work(isOver)))
  }

  /** One change of each slot of every clerk, one after the other. `answered`: after each, when nothing is under way. */
  async takeTurns(answered: () => void): Promise<void> {
    for (const ledger of this.ledgers) await ledger.takeTurns(answered)
  }

  /** So much from one device, so that the database begins a new log on the way. */
  flood(megabytes: number, isOver: () => boolean): Promise<void> {
    return this.#flood(megabytes, isOver)
  }

  /** What is not as it was answered, in words. */
  async settle(): Promise<readonly string[]> {
    await this.readMails()
    return (await Promise.all(this.ledgers.map((ledger) => ledger.settle()))).flat()
  }

  /** Before there are ten thousand more: then the oldest go. */
  readMails(): Promise<void> {
    return this.#mails.read()
  }

  /** Whether it is of a clerk. */
  hear(event: Readonly<Record<string, unknown>>): boolean {
    return this.ledgers.map((ledger) => ledger.hear(event)).includes(true) || isOfOurs(event)
  }

  /** The same, of one that is heard a second time. */
  concerns(event: Readonly<Record<string, unknown>>): boolean {
    return this.ledgers.some(({ kind }) => kind.told?.(event) !== undefined) || isOfOurs(event)
  }

  /** What the stream left out, told twice or made up. When all was heard. `isWhole`: by somebody who never fell behind. */
  untold({ isWhole = true } = {}): readonly string[] {
    return this.ledgers.flatMap((ledger) => ledger.untold(isWhole))
  }

  /**
   * What another server, on what is left of the folder of this one at a moment, does not show though it was answered before.
   * `at`: Unix ms.
   */
  async faultsAt(at: number, place: Pick<OfficePlace, 'port' | 'dataFolder'>): Promise<readonly string[]> {
    const api = new ProofApi(`http://127.0.0.1:${place.port}`, this.authorization, place.dataFolder, { isCopy: true })
    return (await Promise.all(this.ledgers.map((ledger) => ledger.faultsAt(at, api)))).flat()
  }

  /** Reports that were acknowledged, and that no mail tells; after waiting for them. */
  unmailed(timeoutMs: number): Promise<readonly string[]> {
    return this.#mails.missing(this.#mailed.mustHaveTold, timeoutMs)
  }

  /** The same of those that were acknowledged before a moment, in what is left of the folder. */
  unmailedAt(at: number, dataFolder: string, timeoutMs: number): Promise<readonly string[]> {
    return new Mails(dataFolder).missing(this.#mailed.toldBefore(at), timeoutMs)
  }

  get counts(): Readonly<Record<string, LedgerCounts>> {
    return Object.fromEntries(this.ledgers.map(({ kind, counts }) => [kind.name, counts]))
  }
}

const floodPieceBytes = 60_000

async function flood(api: ProofApi, authorization: string, megabytes: number, isOver: () => boolean): Promise<void> {
  const services = [{ serviceIdentifier: 'flood', properties: [{ propId: 1, type: 'STRING' }] }]
  for (let left = megabytes * 1e6; left > 0 && !isOver(); left -= floodPieceBytes) {
    // Nothing that could be made smaller.
    const value = randomBytes(floodPieceBytes * 0.75).toString('base64')
    const body = {
      deviceIdentifier: floodedDevice,
      services,
      updates: [{ serviceIdentifier: 'flood', propId: 1, value }],
    }
    const asked = api.ask('POST', '/link', { headers: { authorization }, body })
    if ((await asked.catch(() => undefined))?.status !== 204) return
  }
}

/** What mails in a folder were about; each is read once, and may be gone from there since. */
class Mails {
  readonly #folder: string
  readonly #read = new Set<string>()
  readonly #subjects = new Set<string>()

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'outbox')
  }

  async read(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.eml') && !this.#read.has(name))
    const texts = await Promise.all(names.map((name) => readFile(join(this.#folder, name), 'latin1')))
    for (const text of texts) this.#subjects.add(`${mailedDevice} ${/^Subject: (.*)\r?$/m.exec(text)?.[1]?.trim()}`)
    for (const name of names) this.#read.add(name)
  }

  /** Which of them no mail tells, once there was time enough for it. */
  async missing(texts: readonly string[], timeoutMs: number): Promise<readonly string[]> {
    const end = performance.now() + timeoutMs
    for (;;) {
      await this.read()
      const missing = texts.filter((text) => !this.#subjects.has(text))
      if (missing.length === 0 || performance.now() > end) return missing.map((text) => `no mail tells of ${text}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

export interface OfficePlace {
  readonly port: number
  readonly dataFolder: string
  readonly random: SeededRandom
  /** Clerks rest for so many times as long; once by default. */
  readonly pauseTimes?: number
}

/** Those that report only for us to see whether they are let in, to turn an alarm or because they were written to; and values that go with a device that is deleted. */
function isOfOurs({ deviceIdentifier }: Readonly<Record<string, unknown>>): boolean {
  return (
    [...secretDevices, ...comingDevices, ...alarmedDevices, ...leftDevices, ...waitingDevices, floodedDevice].includes(
      String(deviceIdentifier),
    ) || isLinked(String(deviceIdentifier))
  )
}

interface Made {
  readonly resourceIdentifier: string
}

async function signUp(api: ProofApi, name: string): Promise<void> {
  const { code } = await api.must<{ code: string }>('POST', '/iam/users', { body: { name, roles: ['viewer'] } })
  await api.must('POST', '/iam/signup', {
    headers: { authorization: '' },
    body: { name, code, password: firstPassword },
  })
}
