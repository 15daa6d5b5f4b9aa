import { expect, test } from 'vitest'
import type { GraphNode } from '#model/graph'
import { hello, report, shapeOf } from '#test/actors/acting-device'
import { turnsOf } from '#test/actors/alarms-fixture'
import { DeviceWithFunctions, mail, onProperty, requestsOf, storedFunction } from '#test/actors/functions-fixture'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'string', 2: 'uint8' })
const other = 'crn#user:9Zk4mPq2Rs'

function linked(): DeviceWithFunctions {
  const device = new DeviceWithFunctions()
  device.act(hello([{ shape: svc, items: [] }]))
  return device
}

test('functions of one author beyond their share of a turn are errors, and those of other authors run', () => {
  const device = linked()
  const conditions = Array.from({ length: 62 }, (_, place): GraphNode => {
    const needle = `${'a'.repeat(250)}b${'a'.repeat(250)}`
    return { id: `c${place}`, type: 'condition', logic: { in: [needle, { var: 'value' }] } }
  })
  const nodes = [onProperty(1), ...conditions]
  const edges = conditions.map(({ id }) => ['when', id] as const)
  for (let count = 0; count < 100; count++) device.put(`F${count}`, storedFunction({ nodes, edges }))
  const graph = { nodes: [onProperty(1), mail], edges: [['when', 'mail'] as const] }
  device.put('Z', storedFunction(graph, { updatedBy: other }))
  const decision = device.act(report(svc, 1, [0, 'a'.repeat(5_000)]))
  expect(requestsOf(decision)).toHaveLength(1)
  // The first ones ran; without the share all 6 200 conditions would run for a second or two.
  expect(device.functions.counts.errors).toBeGreaterThan(90)
  expect(device.functions.counts.runs).toBeLessThan(10)
})

test('forty functions that search a text of 2 KiB for twenty words stay within the share', () => {
  const device = linked()
  const conditions = Array.from({ length: 20 }, (_, place): GraphNode => {
    return { id: `c${place}`, type: 'condition', logic: { in: [`overheated${place}`, { var: 'value' }] } }
  })
  const edges = conditions.map(({ id }) => ['when', id] as const)
  for (let count = 0; count < 40; count++) {
    device.put(`F${count}`, storedFunction({ nodes: [onProperty(1), ...conditions], edges }))
  }
  const text = 'lorem ipsum '.repeat(170)
  // The first turns compile the conditions.
  for (let count = 1; count <= 4; count++) device.act(report(svc, count, [0, `${text}${count}`]))
  device.functions.counts.errors = 0
  device.act(report(svc, 5, [0, text]))
  expect(device.functions.counts.errors).toBe(0)
})

test('alarms beyond their share of a turn keep their state and are evaluated or ended by the next turns', () => {
  const device = linked()
  const many = 2_000
  for (let count = 0; count < many; count++) {
    device.putAlarm(`A${count}`, storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x02' }, 3] } }))
  }
  const all = new Set(turnsOf(device.act(report(svc, 1, [1, 5]))))
  expect(all.size).toBeGreaterThan(100)
  expect(all.size).toBeLessThan(1_000)
  expect(device.rules.counts.errors).toBe(many - all.size)
  for (let turns = 0; turns < 20 && device.reminder !== null; turns++) {
    device.at = device.reminder
    for (const turn of turnsOf(device.due())) all.add(turn)
  }
  expect(all.size).toBe(many)
  expect(device.reminder).toBeNull()

  for (let count = 0; count < many; count++) device.putAlarm(`A${count}`, undefined)
  const ended = new Set(turnsOf(device.act(report(svc, 2, [1, 6]))))
  expect(ended.size).toBe(400)
  for (let turns = 0; turns < 20 && device.reminder !== null; turns++) {
    device.at = device.reminder
    for (const turn of turnsOf(device.due())) ended.add(turn)
  }
  expect(ended.size).toBe(many)
  expect(device.state.alarms.size).toBe(0)
})

test('very many alarms end in turns of their own before their device is removed, and begin again if it stays', () => {
  const device = linked()
  for (let count = 0; count < 1_000; count++) {
    device.putAlarm(`A${count}`, storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x02' }, 3] } }))
  }
  device.act(report(svc, 1, [1, 5]))
  const evaluateAll = () => {
    for (let turns = 0; turns < 20 && device.state.alarms.size < 1_000; turns++) {
      device.at = device.reminder as number
      device.due()
    }
  }
  evaluateAll()
  const end = () => device.act({ type: 'end_alarms' })
  const turns = [end(), end()]
  for (const turn of turns) {
    expect(turn).toMatchObject({ type: 'record', answer: true })
    expect(turnsOf(turn).every((text) => text.includes('ended'))).toBe(true)
  }
  expect(turns.map((turn) => turnsOf(turn).length)).toEqual([400, 400])
  expect(end()).toMatchObject({ type: 'answer', value: false })
  evaluateAll()
  expect(device.state.alarms.size).toBe(1_000)

  const told = [end(), end(), device.act({ type: 'remove' })].flatMap(turnsOf)
  expect(new Set(told).size).toBe(1_000)
  expect(device.state.exists).toBe(false)
})

test('all authors together share the compilation budget of a turn, and every condition is compiled in time', () => {
  const device = linked()
  const many = 40
  for (let count = 0; count < many; count++) {
    // 250 nodes with a structure unlike the others.
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
    // Without a common share, each of forty authors would have one condition compiled: 200 ms.
    if (turns === 0) expect(counts.errors).toBe(many)
    if (counts.evaluated - evaluated === many && counts.errors === errors) break
  }
  expect(turns).toBeGreaterThan(many / 2)
  expect(turns).toBeLessThan(2 * many)
})
