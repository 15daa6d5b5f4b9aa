import { expect } from 'vitest'
import { type EventClient, streamHead } from '#test/blackbox/event-client'
import { climate } from '#test/blackbox/sensor'
import type { SignedInUser } from '#test/blackbox/signed-in-user'
import { until } from '#test/blackbox/until'

/** An alarm of the API. */
export interface Alarm {
  readonly name: string
  readonly resourceIdentifier: string
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** A row of `/alarms/status`. */
export interface StatusRow {
  readonly resourceIdentifier: string
  readonly deviceIdentifier: string
  readonly active: boolean
  readonly since: number
  readonly acknowledged: { readonly by: string; readonly at: number } | null
}

export const above = (limit: number) => ({ '>': [{ var: '0x2000' }, limit] })

export const alarmBody = (more: object = {}) => ({
  name: 'Warm',
  severity: 'warning',
  serviceIdentifier: climate,
  condition: above(30),
  ...more,
})

export const idOf = (alarm: Alarm) => alarm.resourceIdentifier.slice('crn#alarm:'.length)
export const pathOf = (alarm: Alarm) => `/alarms/${idOf(alarm)}`

export async function makeAlarm(person: SignedInUser, more: object = {}): Promise<Alarm> {
  const answer = await person.post('/alarms', alarmBody(more))
  expect([answer.status, answer.headers.get('location')]).toEqual([
    201,
    expect.stringMatching(/^\/api\/v1\/alarms\/\w+$/),
  ])
  return answer.json as Alarm
}

export async function rowsOf(person: SignedInUser, query = ''): Promise<readonly StatusRow[]> {
  const answer = await person.get(`/alarms/status${query}`)
  expect(answer.status).toBe(200)
  return answer.json as StatusRow[]
}

/** Waits for these rows, as `A` if an alarm is active on device A, and `(A)` if it was active before. */
export async function untilRows(person: SignedInUser, ...expected: readonly string[]): Promise<readonly StatusRow[]> {
  let seen: readonly StatusRow[] = []
  return until(
    async () => {
      seen = await rowsOf(person)
      return shortOf(seen).join() === expected.join() && seen
    },
    () => `rows ${expected.join()}, there are ${shortOf(seen).join()}`,
  )
}

export function shortOf(rows: readonly StatusRow[]): string[] {
  return rows.map(({ deviceIdentifier, active }) => (active ? deviceIdentifier : `(${deviceIdentifier})`))
}

/** The alarm events of a client as short texts, in order. */
export async function alarmEventsOf(client: EventClient, person: SignedInUser): Promise<string[]> {
  const { offset } = await streamHead({ get: (path: string) => person.get(path) } as never)
  await until(
    async () => (await client.ping()).offset >= offset,
    () => `events up to ${offset}`,
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
