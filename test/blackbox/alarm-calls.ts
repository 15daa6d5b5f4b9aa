import { expect } from 'vitest'
import { type EventClient, streamHead } from '#test/blackbox/event-client'
import type { Credentials, Person } from '#test/blackbox/people'
import { climate } from '#test/blackbox/sensor'
import { until } from '#test/blackbox/until'

/** An alarm as the server shows it. */
export interface Alarm {
  readonly name: string
  readonly resourceIdentifier: string
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** A row of the status. */
export interface Row {
  readonly resourceIdentifier: string
  readonly deviceIdentifier: string
  readonly active: boolean
  readonly since: number
}

export const above = (limit: number) => ({ '>': [{ var: '0x2000' }, limit] })

export const watching = (more: object = {}) => ({
  name: 'Warm',
  severity: 'warning',
  serviceIdentifier: climate,
  condition: above(30),
  ...more,
})

export const idOf = (alarm: Alarm) => alarm.resourceIdentifier.slice('crn#alarm:'.length)
export const pathOf = (alarm: Alarm) => `/alarms/${idOf(alarm)}`

export async function makeAlarm(who: Person, more: object = {}): Promise<Alarm> {
  const answer = await who.post('/alarms', watching(more))
  expect([answer.status, answer.headers.get('location')]).toEqual([
    201,
    expect.stringMatching(/^\/api\/v1\/alarms\/\w+$/),
  ])
  return answer.json as Alarm
}

/** With a secret of its own. */
export async function makeDevice(who: Person, deviceIdentifier: string): Promise<Credentials> {
  const answer = await who.post('/devices', { deviceIdentifier })
  expect(answer.status).toBe(201)
  return { name: deviceIdentifier, password: (answer.json as { secret: string }).secret }
}

export async function rowsOf(who: Person, query = ''): Promise<readonly Row[]> {
  const answer = await who.get(`/alarms/status${query}`)
  expect(answer.status).toBe(200)
  return answer.json as Row[]
}

/** Until the rows are these, shortly: `A` where it is active, `(A)` where it was. */
export async function untilRows(who: Person, ...shown: readonly string[]): Promise<readonly Row[]> {
  let seen: readonly Row[] = []
  return until(
    async () => {
      seen = await rowsOf(who)
      return shortOf(seen).join() === shown.join() && seen
    },
    () => `rows ${shown.join()}, there are ${shortOf(seen).join()}`,
  )
}

export function shortOf(rows: readonly Row[]): string[] {
  return rows.map(({ deviceIdentifier, active }) => (active ? deviceIdentifier : `(${deviceIdentifier})`))
}

/** What a dashboard heard of alarms, shortly, in order. */
export async function heardOf(client: EventClient, who: Person): Promise<string[]> {
  const { offset } = await streamHead({ get: (path: string) => who.get(path) } as never)
  await until(
    async () => (await client.ping()).offset >= offset,
    () => `all up to ${offset}`,
  )
  client.check()
  return client.events.flatMap((event) => {
    switch (event.type) {
      case 'ALARM_CONFIG_UPDATE':
        return [Object.keys(event.payload).length > 0 ? `put ${(event.payload as unknown as Alarm).name}` : 'deleted']
      case 'ALARM_STATUS_ACTIVE':
        return [`${event.deviceIdentifier} active`]
      case 'ALARM_STATUS_INACTIVE':
        return [`${event.deviceIdentifier} inactive`]
      default:
        return []
    }
  })
}
