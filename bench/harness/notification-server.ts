import { callApi, createUser, identityOn, readToken } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import { type RunningServer, startOn } from '#bench/harness/servers'
import { copyDataFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import type { AlarmedFleet } from '#bench/load/alarms'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import type { MailCounts } from '#bench/load/mail-server'
import { firstPropId } from '#bench/load/update-template'
import { processUsage } from '#bench/process-usage'
import { freePort } from '#bench/server-process'

/**
 * The function of a load, which each change triggers. `quiet`: its condition never holds. `throttled`: one mail a
 * minute and device. `unthrottled`: a mail for every change. `elsewhere`: the same, for other devices.
 */
export type FunctionMode = 'quiet' | 'throttled' | 'unthrottled' | 'elsewhere'

/** A data folder with a disabled function, and with users who subscribe to its mails. */
export interface SubscribedFolder {
  readonly folder: string
  readonly fn: string
  /** Ids of groups: the fleet, and as many devices outside of it. */
  readonly groups: { readonly ours: string; readonly others: string }
}

/** Mails to one user in an hour: a short storm exceeds it. */
export const mailsPerHourMax = 5

const pollEveryMs = 250
const mailsPollMs = 50
const template = 'load'
const throttleSeconds = 60
const otherPrefix = 'ELSEWHERE'
const requestsAtOnce = 16

const templateBody = {
  locales: {
    en: {
      subject: '{{deviceIdentifier}}: {{value}}',
      text: '{{function}}: {{property}} of {{deviceIdentifier}} is {{value}}, and was {{previous}}.\n',
    },
  },
}

/** Creates all of it in an empty folder. Passwords are cheap there, because no measurement includes a login. */
export async function createSubscribedFolder(
  folder: string,
  fleet: AlarmedFleet,
  subscribers: number,
): Promise<SubscribedFolder> {
  const server = await startOn(folder, identityOn, 'harness/cheap-passwords')
  const { port } = server
  try {
    const person = personOf(server)
    const make = async (path: string, body: object, method = 'POST') => {
      const made = await callApi<{ resourceIdentifier: string }>(port, path, { person, body, method })
      return made.resourceIdentifier
    }
    const groupOf = async (prefix: string) => {
      const devices = Array.from({ length: fleet.devices }, (_, device) => identifierOf(prefix, device))
      return idOf(await make('/groups', { name: 'Load', devices }))
    }
    const groups = { ours: await groupOf(fleet.prefix), others: await groupOf(otherPrefix) }
    await make(`/templates/${template}`, templateBody, 'PUT')
    const topic = await make('/functions', { ...functionBody('unthrottled', fleet, groups.ours), enabled: false })
    let next = 0
    const subscribeMore = async () => {
      while (next < subscribers) {
        const name = `subscriber${next++}`
        const user = await createUser(port, person, { name, role: 'viewer', email: `${name}@load.example` })
        const body = { topic, type: 'email', locale: 'en' }
        await callApi(port, '/notifications/subscribe', { person: `Bearer ${await readToken(port, user)}`, body })
      }
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, subscribeMore))
    return { folder, fn: idOf(topic), groups }
  } finally {
    await server.stop()
  }
}

/** A copy of such a folder, and a mail server for it. */
export interface NotificationServer {
  readonly mails: Mails
  /** `before`: see `loadedBefore`. One server at a time. */
  start(mode: FunctionMode | undefined, before?: string): Promise<RunningServer>
}

interface Mails {
  seen(): Promise<MailCounts>
  clear(): Promise<void>
  until(isThere: (seen: MailCounts) => boolean, timeoutMs: number): Promise<MailCounts>
}

/** `fleet`: its changes trigger the function. Deletes everything when `use` is done. */
export async function withNotifications<Result>(
  { folder: left, fn, groups }: SubscribedFolder,
  fleet: AlarmedFleet,
  use: (notified: NotificationServer) => Promise<Result>,
): Promise<Result> {
  const folder = temporaryFolder('bench-')
  const remote = new Remote('load/mail-server')
  try {
    await copyDataFolder(left, folder.path)
    const mailPort = await freePort()
    await remote.ask('listen', mailPort)
    const environment = {
      ...identityOn,
      DURABILITY: 'process',
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
      MAILS_PER_HOUR_MAX: String(mailsPerHourMax),
    }
    return await use({
      mails: mailsOf(remote),
      async start(mode, before) {
        const server = await startOn(folder.path, environment, before)
        if (mode === undefined) return server
        const group = mode === 'elsewhere' ? groups.others : groups.ours
        const body = { ...functionBody(mode, fleet, group), enabled: true }
        try {
          await callApi(server.port, `/functions/${fn}`, { person: personOf(server), body, method: 'PATCH' })
        } catch (error) {
          await server.stop()
          throw error
        }
        return server
      },
    })
  } finally {
    await remote.stop()
    await folder.remove()
  }
}

/** Maximum values of gauges that are read several times a second. */
export interface PeakGauges {
  /** Notices that wait for the next mail to their recipient. */
  readonly waitingMost: number
  readonly residentMostBytes: number
}

export async function watching<Result>(
  server: RunningServer,
  run: () => Promise<Result>,
): Promise<readonly [Result, PeakGauges]> {
  let isOver = false
  let watched: PeakGauges = { waitingMost: 0, residentMostBytes: 0 }
  const readGauges = async () => {
    const path = '/notifications/outbox'
    const { waiting } = await callApi<Outbox>(server.port, path, { person: personOf(server) })
    const { residentBytes = 0 } = processUsage(server.processId) ?? {}
    watched = {
      waitingMost: Math.max(watched.waitingMost, waiting.requests),
      residentMostBytes: Math.max(watched.residentMostBytes, residentBytes),
    }
  }
  const poll = async () => {
    while (!isOver) {
      await readGauges()
      await pause(pollEveryMs)
    }
  }
  const running = run().finally(() => {
    isOver = true
  })
  const [result] = await Promise.all([running, poll()])
  return [result, watched]
}

interface Outbox {
  readonly waiting: { readonly requests: number }
}

function mailsOf(remote: Remote): Mails {
  const seen = () => remote.ask<MailCounts>('seen')
  return {
    seen,
    clear: () => remote.ask('clear'),
    async until(isThere, timeoutMs) {
      const end = performance.now() + timeoutMs
      for (;;) {
        const found = await seen()
        if (isThere(found)) return found
        if (performance.now() > end) throw new Error(`received mails: ${JSON.stringify(found)}`)
        await pause(mailsPollMs)
      }
    },
  }
}

/** One trigger for each property of a frame, all with the same action. `group`: its id. */
function functionBody(mode: FunctionMode, { changes }: AlarmedFleet, group: string): object {
  const triggers = Array.from({ length: changes }, (_, place) => ({
    id: `change-${place}`,
    type: 'trigger',
    on: 'property',
    serviceIdentifier,
    propId: firstPropId + place,
  }))
  const behind = [...between(mode), { id: 'tell', type: 'email', template }]
  const [first] = behind
  const edges = [
    ...triggers.map(({ id }) => [id, first?.id]),
    ...behind.slice(1).map(({ id }, place) => [behind[place]?.id, id]),
  ]
  return { name: 'Load', binding: { groups: [group] }, graph: { nodes: [...triggers, ...behind], edges } }
}

/** Values of a load are never negative. */
function between(mode: FunctionMode): readonly { readonly id: string; readonly type: string }[] {
  if (mode === 'quiet') {
    const never = { id: 'never', type: 'condition', logic: { '<': [{ var: 'value' }, 0] } }
    return [never]
  }
  const throttle = { id: 'throttle', type: 'throttle', seconds: throttleSeconds }
  return mode === 'throttled' ? [throttle] : []
}

function personOf({ authorizations }: RunningServer): string {
  if (!authorizations) throw new Error('users cannot subscribe while IAM is off')
  return authorizations.person
}

function idOf(resourceIdentifier: string): string {
  return resourceIdentifier.slice(resourceIdentifier.lastIndexOf(':') + 1)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
