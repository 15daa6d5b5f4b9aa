import { beforeEach, describe, expect, test } from 'vitest'
import type { DeviceCommand } from '#actors/device/commands'
import { withRuns } from '#actors/device/function-runs'
import { type DeviceFunctions, noDeviceFunctions } from '#actors/device/turn-runs'
import type { Entry, PropertyState } from '#model/entry'
import type { GraphNode } from '#model/graph'
import { type Grant, scopeOf } from '#model/scope'
import { noFunctions } from '#rules/function-list'
import { answer, type Decision, record } from '#runtime/actor'
import { now, turnAt } from '#test/actors/acting-actor'
import {
  ActingDevice,
  deviceWith,
  hello,
  kindsOf,
  noRuleViews,
  post,
  report,
  shapeOf,
} from '#test/actors/acting-device'
import {
  askedOf,
  chain,
  condition,
  DeviceWithFunctions,
  functionViews,
  hook,
  mail,
  onProperty,
  requestsOf,
  storedFunction,
} from '#test/actors/functions-fixture'
import { storedAlarm } from '#test/rules/stored-rules'

const svc = shapeOf('svc', { 1: 'uint8', 2: 'string', 3: 'bool' })
const other = shapeOf('other', { 1: 'uint8' })
const error = { error: 'broken' }

/** A connected device with one function F1, which has these nodes in a row and a mail at the end. */
class LinkedDevice extends DeviceWithFunctions {
  seq = 0

  constructor(...nodes: readonly GraphNode[]) {
    super()
    this.act(hello([svc, other].map((shape) => ({ shape, items: [] }))))
    this.put('F1', storedFunction(chain(...nodes, mail)))
  }

  reports(...items: (number | PropertyState)[]) {
    return this.act(report(svc, ++this.seq, items))
  }
}

let device: LinkedDevice
beforeEach(() => {
  device = new LinkedDevice(onProperty(1))
})

describe('a trigger by a property', () => {
  type To = Parameters<typeof onProperty>[1]
  test.each<[string, To, before: PropertyState | undefined, reported: (number | PropertyState)[], string[]]>([
    ['the first value', undefined, undefined, [0, 5], ['5, was null']],
    ['another value', undefined, 4, [0, 5], ['5, was 4']],
    ['the same value', undefined, 5, [0, 5], []],
    ['zero as the first value', undefined, undefined, [0, 0], ['0, was null']],
    ['an error', undefined, 5, [0, error], []],
    ['a value after an error', undefined, error, [0, 5], ['5, was null']],
    ['another property', undefined, 4, [1, 'x', 2, true], []],
    ['two values in one report, of which the last one counts', undefined, 4, [0, 5, 0, 6], ['6, was 4']],
    ['two values in one report, the last one unchanged', undefined, 4, [0, 5, 0, 4], []],
    ['a value and then an error in one report', undefined, 4, [0, 5, 0, error], []],
    ['a value among those of other properties', undefined, 4, [1, 'x', 0, 5, 2, true], ['5, was 4']],
    ['the value that the trigger names', 5, 4, [0, 5], ['5, was 4']],
    ['another value than the trigger names', 5, 4, [0, 6], []],
    ['the value that the trigger names, unchanged', 5, 5, [0, 5], []],
    ['the value that the trigger names and another one in the same report', 5, 4, [0, 5, 0, 6], []],
  ])('fires or does not fire at %s', (_, to, before, reported, expected) => {
    const device = new LinkedDevice(onProperty(1, to))
    if (before !== undefined) device.reports(0, before)
    expect(requestsOf(device.reports(...reported))).toEqual(expected.map((each) => `F1/mail ${each}`))
  })

  test('does not fire for another service or property', () => {
    const device = new LinkedDevice(onProperty(1, undefined, 'other'))
    expect(requestsOf(device.reports(0, 5))).toEqual([])
    expect(requestsOf(device.act(report(other, ++device.seq, [0, 5])))).toEqual(['F1/mail 5, was null'])
    const none = new LinkedDevice(onProperty(9))
    expect(requestsOf(none.reports(0, 5, 1, 'x'))).toEqual([])
  })

  test('requests a mail with property, time and cause', () => {
    const device = new LinkedDevice(onProperty(2))
    device.reports(1, 'shut')
    device.at += 500
    const request = {
      ...{ at: now + 500, device: 'A', node: 'mail', template: 'words', value: `${'x'.repeat(1_023)}…` },
      ...{ previous: 'shut', cause: { on: 'property', service: 'svc', propId: 2 } },
    }
    expect(askedOf(device.reports(1, 'x'.repeat(2_000)))).toEqual([{ fn: 'F1', tenant: 'default', request }])
  })

  test('does not fire for a report with an old sequence number', () => {
    device.reports(0, 5)
    expect(kindsOf(device.act(report(svc, device.seq, [0, 6])))).toEqual(['answer'])
  })
})

describe('a trigger by a property fires or does not fire at HELLO', () => {
  const retyped = shapeOf('svc', { 1: 'uint16', 2: 'string' })
  const marked = shapeOf('svc', { 1: ['uint8', 1], 2: 'string', 3: 'bool' })
  const fewer = shapeOf('svc', { 2: 'string' })

  test.each<[string, DeviceCommand, string[]]>([
    ['with another value', hello([{ shape: svc, items: [0, 6] }]), ['6, was 5']],
    ['with the same value', hello([{ shape: svc, items: [0, 5] }]), []],
    ['without a value', hello([{ shape: svc, items: [] }]), []],
    ['with another type and another value', hello([{ shape: retyped, items: [0, 6] }]), ['6, was 5']],
    ['with another type and the same value', hello([{ shape: retyped, items: [0, 5] }]), []],
    ['with another type and no value', hello([{ shape: retyped, items: [] }]), []],
    ['with the same value and another modifier', hello([{ shape: marked, items: [0, 5] }]), []],
    ['without the property', hello([{ shape: fewer, items: [0, 'x'] }]), []],
    ['without the service', hello([]), []],
  ])('%s', (_, command, expected) => {
    device.reports(0, 5)
    expect(requestsOf(device.act(command))).toEqual(expected.map((each) => `F1/mail ${each}`))
  })

  test('with a value of a property that an earlier HELLO removed, as a first value', () => {
    device.reports(0, 5)
    device.act(hello([]))
    expect(requestsOf(device.act(hello([{ shape: svc, items: [0, 5] }])))).toEqual(['F1/mail 5, was null'])
  })
})

describe('a trigger by a property fires or does not fire at a POST', () => {
  /** Updates of property 1 from texts such as `svc 6` or `svc 6 at 1000`. */
  const updates = (...texts: readonly string[]) =>
    texts.map((text): [string, number, number, number?] => {
      const [service = '', value, , at] = text.split(' ')
      return at === undefined ? [service, 1, Number(value)] : [service, 1, Number(value), Number(at)]
    })

  const declaring = (value: number) => ({ services: [{ shape: svc, items: [0, value] }] })

  test.each<[string, ReturnType<typeof post>, string[]]>([
    ['with one update', post(updates('svc 6')), ['6, was 5']],
    ['with the present value', post(updates('svc 5')), []],
    ['with several of one time', post(updates('svc 6', 'svc 7')), ['7, was 5']],
    ['with several times: each is a change', post(updates('svc 6 at 1000', 'svc 7 at 2000')), ['6, was 5', '7, was 6']],
    ['with a change back', post(updates('svc 6 at 1000', 'svc 5 at 2000')), ['6, was 5', '5, was 6']],
    ['other services between', post(updates('svc 6', 'other 9', 'svc 6')), ['6, was 5']],
    ['with a declaration of the same value', post(updates('svc 6'), declaring(6)), ['6, was 5']],
    ['with a declaration of another', post(updates('svc 7'), declaring(6)), ['6, was 5', '7, was 6']],
  ])('%s', (_, command, expected) => {
    device.reports(0, 5)
    expect(requestsOf(device.act(command))).toEqual(expected.map((each) => `F1/mail ${each}`))
  })

  test('that declares a service without values and reports some', () => {
    const device = new DeviceWithFunctions()
    device.put('F1', storedFunction(chain(onProperty(1), mail)))
    const declared = { services: [{ shape: svc, items: [] }] }
    const decision = device.act(post(updates('svc 6 at 1000', 'svc 7 at 2000'), declared))
    expect(requestsOf(decision)).toEqual(['F1/mail 6, was null', 'F1/mail 7, was 6'])
  })
})

describe('a trigger on a status', () => {
  const toOnline = '"online", was "offline"'
  test.each([
    [undefined, [toOnline, '"idle", was "online"', '"offline", was "idle"', toOnline]],
    ['online' as const, [toOnline, toOnline]],
    ['idle' as const, ['"idle", was "online"']],
    ['offline' as const, ['"offline", was "idle"']],
  ])('to %s fires at these changes', (to, expected) => {
    const device = new DeviceWithFunctions()
    const onStatus: GraphNode = { id: 'when', type: 'trigger', on: 'status', ...(to && { to }) }
    device.put('F1', storedFunction(chain(onStatus, mail)))
    const [idle, offline] = (['idle', 'offline'] as const).map((status) => ({ type: 'status', status }) as const)
    const commands = [hello([]), hello([]), idle, idle, offline, post([])] as DeviceCommand[]
    const decisions = commands.map((command) => device.act(command))
    expect(decisions.flatMap(requestsOf)).toEqual(expected.map((each) => `F1/mail ${each}`))
    expect(decisions.flatMap(askedOf)[0]?.request.cause).toEqual({ on: 'status' })
  })
})

describe('a trigger on an alarm', () => {
  const onAlarm = (to?: 'active' | 'inactive'): GraphNode => {
    return { id: 'when', type: 'trigger', on: 'alarm', alarmId: 'I1', ...(to && { to }) }
  }
  const high = storedAlarm({ serviceIdentifier: 'svc', condition: { '>': [{ var: '0x01' }, 10] } })

  test.each([
    [undefined, ['true, was false', 'false, was true']],
    ['active' as const, ['true, was false']],
    ['inactive' as const, ['false, was true']],
  ])('to %s fires in the commit that changes the alarm', (to, expected) => {
    const device = new LinkedDevice(onAlarm(to))
    device.putAlarm('I1', high)
    device.putAlarm('I2', high)
    const decisions = [11, 12, 1].map((value) => device.reports(0, value))
    expect(decisions.flatMap(requestsOf)).toEqual(expected.map((each) => `F1/mail ${each}`))
    expect(decisions.flatMap(askedOf)[0]?.request.cause).toEqual({ on: 'alarm', alarm: 'I1' })
  })

  test('fires when the condition has held for its duration', () => {
    const device = new LinkedDevice(onAlarm())
    device.putAlarm('I1', { ...high, forSeconds: 2 })
    expect(requestsOf(device.reports(0, 11))).toEqual([])
    device.at += 2_000
    expect(requestsOf(device.due())).toEqual(['F1/mail true, was false'])
  })

  test('fires by a POST, a HELLO, and an edit of an alarm with a true condition', () => {
    const device = new LinkedDevice(onAlarm())
    device.putAlarm('I1', high)
    expect(requestsOf(device.act(post([['svc', 1, 11]])))).toHaveLength(1)
    expect(requestsOf(device.act(hello([{ shape: svc, items: [0, 1] }])))).toHaveLength(1)
    device.putAlarm('I1', { ...high, condition: { '<': [{ var: '0x01' }, 10] }, edit: 2 })
    expect(requestsOf(device.act({ type: 'evaluate' }))).toEqual(['F1/mail true, was false'])
  })

  test('does not fire if the alarm or the device is removed', () => {
    const device = new LinkedDevice(onAlarm())
    device.putAlarm('I1', high)
    device.reports(0, 11)
    device.putAlarm('I1', undefined)
    const ended = device.act({ type: 'evaluate' })
    expect([kindsOf(ended), requestsOf(ended)]).toEqual([['alarm_changed'], []])
    device.putAlarm('I1', high)
    device.act({ type: 'evaluate' })
    expect(requestsOf(device.act({ type: 'remove' }))).toEqual([])
  })
})

describe('nodes between a trigger and a mail', () => {
  test('pass no event if they fail, and the failure is counted', () => {
    const device = new LinkedDevice(onProperty(2), condition({ '>': [{ '+': [{ var: 'value' }, 1] }, 10] }))
    expect(requestsOf(device.reports(1, 'no number'))).toEqual([])
    expect(device.functions.counts.errors).toBe(1)
  })

  test('have only values that their author may read', () => {
    const device = new LinkedDevice(onProperty(1), condition({ '==': [{ var: ['meta.floor', 0] }, 3] }))
    device.act({ type: 'patch_meta', patch: { floor: 3 } })
    expect(requestsOf(device.reports(0, 5))).toHaveLength(1)
    const permissions: Grant['permissions'] = { functions: ['read'], service: ['read'] }
    device.scope = scopeOf([{ permissions, devices: ['*'], services: ['*'] }])
    device.functions.accessChanged('default')
    expect(requestsOf(device.reports(0, 6))).toHaveLength(0)
    expect(device.functions.counts.runs).toBe(2)
  })
})

describe('the functions of a device', () => {
  test('request no mails above their rate, and these are counted when the turn is stored', () => {
    const decisions = Array.from({ length: 300 }, (_, times) => device.reports(0, times % 250))
    expect(decisions.flatMap(requestsOf)).toHaveLength(256)
    expect(device.functions.counts).toMatchObject({ runs: 300, requests: 256, overflown: 44 })
    expect(device.functions.overflows.drain()).toMatchObject([{ tenant: 'default', function: 'F1', count: 44 }])
    const decision = device.decide(report(svc, ++device.seq, [0, 251]))
    expect([decision.type, device.functions.counts.overflown]).toEqual(['record', 44])
  })

  test('have separate counts, also if one report requests several mails', () => {
    const both = chain(onProperty(1), mail)
    const second = { ...onProperty(2), id: 'second' }
    device.put('F2', storedFunction({ nodes: [...both.nodes, second], edges: [...both.edges, [second.id, mail.id]] }))
    const decisions = Array.from({ length: 300 }, (_, times) => device.reports(0, times % 250, 1, `${times}`))
    expect(decisions.flatMap(requestsOf)).toHaveLength(2 * 256)
    expect(device.functions.counts).toMatchObject({ runs: 900, requests: 512, overflown: 44 + 344 })
    const overflows = device.functions.overflows.drain().map(({ function: fn, count }) => [fn, count])
    expect(overflows).toEqual([
      ['F2', 344],
      ['F1', 44],
    ])
  })
})

describe('webhooks', () => {
  const commandsOf = (decision: Decision<Entry>) =>
    decision.type === 'record' ? (decision.tells ?? []).map(({ to, command }) => [to.id, command]) : []
  const both = { ...chain(onProperty(1), mail), nodes: [onProperty(1), mail, hook] }
  const graph = { ...both, edges: [...both.edges, ['when', 'hook'] as const] }

  test('are requested together with mails', () => {
    device.put('F1', storedFunction(graph))
    const { template: _, ...request } = askedOf(device.reports(0, 5))[0]?.request ?? {}
    expect(commandsOf(device.reports(0, 6)).at(-1)).toEqual([
      'F1',
      { type: 'webhook', request: { ...request, node: 'hook', value: 6, previous: 5 } },
    ])
  })

  test('have a higher rate limit than mails, and are counted above it', () => {
    device.put('F1', storedFunction(graph))
    for (let times = 0; times < 20_100; times++) device.reports(0, times % 250)
    expect(device.functions.counts).toMatchObject({ requests: 256, overflown: 20_100 - 256, webhooksDropped: 100 })
    const counts = device.functions.overflows.drain().map(({ webhook, count }) => [webhook, count])
    expect(counts).toEqual([
      [undefined, 20_100 - 256],
      ['hook', 100],
    ])
  })

  test('are not requested by a node that is disabled', () => {
    device.put('F1', storedFunction(chain(onProperty(1), { ...hook, enabled: false } as GraphNode)))
    expect(commandsOf(device.reports(0, 5))).toEqual([])
  })
})

describe('a decision of a device', () => {
  /** A connected device with these functions. */
  const deviceOf = (functions: DeviceFunctions) => {
    const device = ActingDevice.added('A', deviceWith(noRuleViews, functions))
    device.act(hello([{ shape: svc, items: [] }]))
    return device
  }

  test.each<[string, DeviceFunctions]>([
    ['no tenant has functions', noDeviceFunctions],
    ['the functions are bound to another device', views(['B'])],
  ])('is unchanged if %s', (_, functions) => {
    const device = deviceOf(functions)
    const reported = record([{ kind: 'meta_set' as const, device: 'A', at: 1, meta: {} }])
    for (const decision of [record([]), reported, answer(1)]) {
      expect(withRuns(device.state, decision, turnAt(), functions)).toBe(decision)
    }
    expect(device.act(report(svc, 1, [0, 5]))).not.toHaveProperty('effects')
    expect(functions.counts.runs).toBe(0)
  })

  test('loads the functions of a device again only after a change', () => {
    const functions = views(['A'])
    let loads = 0
    const counting: DeviceFunctions = {
      ...noDeviceFunctions,
      of: (tenant) => {
        const view = functions.of(tenant)
        const listOf = (device: string) => {
          loads++
          return view?.listOf(device) ?? noFunctions
        }
        return view && { version: view.version, listOf }
      },
    }
    const device = deviceOf(counting)
    loads = 0
    for (let seq = 1; seq < 10; seq++) device.act(report(svc, seq, [0, seq]))
    expect(loads).toBe(0)
    functions.functionChanged('default', 'F1', storedFunction(chain(onProperty(1), mail), { edit: 2 }))
    for (let seq = 10; seq < 20; seq++) device.act(report(svc, seq, [0, seq]))
    expect(loads).toBe(1)
  })
})

function views(devices: readonly string[]) {
  const functions = functionViews()
  functions.load([])
  functions.functionChanged('default', 'F1', storedFunction(chain(onProperty(1), mail), { devices }))
  return functions
}
