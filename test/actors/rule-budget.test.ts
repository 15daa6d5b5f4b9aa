import { expect, test } from 'vitest'
import type { Condition } from '#model/condition'
import type { GraphNode } from '#model/graph'
import { hello, report, shapeOf } from '#test/actors/acting-device'
import { turnsOf } from '#test/actors/alarms-fixture'
import { DeviceWithFunctions, mail, onProperty, requestsOf, storedFunction } from '#test/actors/functions-fixture'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'string', 2: 'uint8' })
const other = 'crn#user:9Zk4mPq2Rs'

/** A connected device with this many alarms that are active above 3. */
function connected(alarms = 0): DeviceWithFunctions {
  const device = new DeviceWithFunctions()
  device.act(hello([{ shape: svc, items: [] }]))
  const alarm = storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x02' }, 3] } })
  for (let count = 0; count < alarms; count++) device.putAlarm(`A${count}`, alarm)
  return device
}

/** The alarm events of all due reminders. */
function turnsOfReminders(device: DeviceWithFunctions): string[] {
  const events: string[] = []
  for (let turns = 0; turns < 20 && device.reminder !== null; turns++) {
    device.at = device.reminder
    events.push(...turnsOf(device.due()))
  }
  return events
}

const conditionsAfterTrigger = (logics: readonly Condition[]) => {
  const conditions = logics.map((logic, place): GraphNode => ({ id: `c${place}`, type: 'condition', logic }))
  return { nodes: [onProperty(1), ...conditions], edges: conditions.map(({ id }) => ['when', id] as const) }
}

test('functions beyond the share of their author in a turn fail, and functions of other authors run', () => {
  const device = connected()
  const needle = `${'a'.repeat(250)}b${'a'.repeat(250)}`
  const slow = conditionsAfterTrigger(Array(62).fill({ in: [needle, { var: 'value' }] }))
  for (let count = 0; count < 100; count++) device.put(`F${count}`, storedFunction(slow))
  const graph = { nodes: [onProperty(1), mail], edges: [['when', 'mail'] as const] }
  device.put('Z', storedFunction(graph, { updatedBy: other }))
  const decision = device.act(report(svc, 1, [0, 'a'.repeat(5_000)]))
  expect(requestsOf(decision)).toHaveLength(1)
  // The first ones ran. Without the share, all 6 200 conditions would run for one or two seconds.
  expect(device.functions.counts.errors).toBeGreaterThan(90)
  expect(device.functions.counts.runs).toBeLessThan(10)
})

test('forty functions that each search a text of 2 KiB for twenty words stay within the share of an author', () => {
  const device = connected()
  const words = Array.from({ length: 20 }, (_, place) => ({ in: [`overheated${place}`, { var: 'value' }] }))
  for (let count = 0; count < 40; count++) device.put(`F${count}`, storedFunction(conditionsAfterTrigger(words)))
  const text = 'lorem ipsum '.repeat(170)
  // The first turns compile the conditions.
  for (let count = 1; count <= 4; count++) device.act(report(svc, count, [0, `${text}${count}`]))
  device.functions.counts.errors = 0
  device.act(report(svc, 5, [0, text]))
  expect(device.functions.counts.errors).toBe(0)
})

test('alarms beyond their share of a turn keep their state, and the next turns evaluate or end them', () => {
  const many = 2_000
  const device = connected(many)
  const all = new Set(turnsOf(device.act(report(svc, 1, [1, 5]))))
  expect(all.size).toBeGreaterThan(100)
  expect(all.size).toBeLessThan(1_000)
  expect(device.rules.counts.errors).toBe(many - all.size)
  for (const event of turnsOfReminders(device)) all.add(event)
  expect(all.size).toBe(many)
  expect(device.reminder).toBeNull()

  for (let count = 0; count < many; count++) device.putAlarm(`A${count}`, undefined)
  const ended = new Set(turnsOf(device.act(report(svc, 2, [1, 6]))))
  expect(ended.size).toBe(400)
  for (const event of turnsOfReminders(device)) ended.add(event)
  expect(ended.size).toBe(many)
  expect(device.state.alarms.size).toBe(0)
})

test('very many alarms end in separate turns before their device is removed, and begin again if it is not removed', () => {
  const device = connected(1_000)
  device.act(report(svc, 1, [1, 5]))
  turnsOfReminders(device)
  const endAlarms = () => device.act({ type: 'end_alarms' })
  const turns = [endAlarms(), endAlarms()]
  for (const turn of turns) {
    expect(turn).toMatchObject({ type: 'record', answer: true })
    expect(turnsOf(turn).every((text) => text.includes('ended'))).toBe(true)
  }
  expect(turns.map((turn) => turnsOf(turn).length)).toEqual([400, 400])
  expect(endAlarms()).toMatchObject({ type: 'answer', value: false })
  turnsOfReminders(device)
  expect(device.state.alarms.size).toBe(1_000)

  const ended = [endAlarms(), endAlarms(), device.act({ type: 'remove' })].flatMap(turnsOf)
  expect(new Set(ended).size).toBe(1_000)
  expect(device.state.exists).toBe(false)
})

test('all authors share one compilation budget for a turn, and later turns compile the other conditions', () => {
  const device = connected()
  const many = 40
  for (let count = 0; count < many; count++) {
    // Each condition has 250 nodes, in another structure than the others.
    const sums = Array.from({ length: 30 }, (_, place) => {
      return { [place < count ? '+' : 'max']: [{ var: ['0x02', 1] }, 1, 2, place, 4] }
    })
    const condition = { '<': [{ '+': [{ var: '0x02' }, ...sums] }, -1] }
    device.putAlarm(`A${count}`, storedAlarm({ serviceIdentifier: 'svc', condition, updatedBy: `crn#user:${count}` }))
  }
  const { counts } = device.rules
  let turns = 0
  for (; turns < 2 * many; turns++) {
    const { evaluated, errors } = counts
    device.act(report(svc, turns + 1, [1, turns % 200]))
    // Without a common share, one condition of each of the forty authors would be compiled, which takes 200 ms.
    if (turns === 0) expect(counts.errors).toBe(many)
    if (counts.evaluated - evaluated === many && counts.errors === errors) break
  }
  expect(turns).toBeGreaterThan(many / 2)
  expect(turns).toBeLessThan(2 * many)
})
