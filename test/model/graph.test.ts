import { describe, expect, test } from 'vitest'
import { Graph, graphEdgesMax, graphNodesMax } from '#model/graph'

const heat = { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: 'Climate', propId: 0x2000 }
const siren = { id: 'siren', type: 'trigger', on: 'alarm', alarmId: '8Hj4wRt6Zp' }
const gone = { id: 'gone', type: 'trigger', on: 'status', to: 'offline' }
const hot = { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } }
const hourly = { id: 'hourly', type: 'throttle', seconds: 3_600 }
const notify = { id: 'notify', type: 'email', template: 'too-hot' }
const hook = { id: 'hook', type: 'webhook', url: 'https://example.com/hook?a=b' }

/** `edges` in short: `a b, b c`. */
function graphOf(nodes: readonly unknown[], edges = '') {
  return { nodes, edges: edges === '' ? [] : edges.split(', ').map((edge) => edge.split(' ')) }
}

const good = graphOf([heat, hot, hourly, notify], 'heat hot, hot hourly, hourly notify')

/** Conditions c0, c1, … in a row after `heat`. */
function chain(length: number, { isClosed = false } = {}) {
  const ids = Array.from({ length }, (_, number) => `c${number}`)
  return {
    nodes: [heat, ...ids.map((id) => ({ ...hot, id }))],
    edges: [
      ...['heat', ...ids.slice(0, -1)].map((id, place) => [id, ids[place]]),
      ...(isClosed ? [[ids.at(-1), ids[0]]] : []),
    ],
  }
}

/** `path: message` of each fault. */
function faultsOf(value: unknown): string[] {
  const result = Graph.safeParse(value)
  return result.success ? [] : result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('a graph', () => {
  test.each<[what: string, graph: object]>([
    ['with all types of nodes', good],
    ['with a webhook', graphOf([heat, hook], 'heat hook')],
    ['with a disabled webhook', graphOf([heat, { ...hook, enabled: false }], 'heat hook')],
    ['with a secret', graphOf([heat, { ...hook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }], 'heat hook')],
    ['with a trigger only', graphOf([heat])],
    ['with triggers that join', graphOf([heat, siren, gone, notify], 'heat notify, siren notify, gone notify')],
    ['that splits and joins', graphOf([heat, hot, hourly, notify], 'heat hot, heat hourly, hot notify, hourly notify')],
    ['with the email first', graphOf([notify, heat], 'heat notify')],
    ['with nothing after a throttle', graphOf([heat, hourly], 'heat hourly')],
    ['of the maximum length', chain(graphNodesMax - 1)],
    ['with ids in other letters', graphOf([{ ...heat, id: 'A-b_c.9' }])],
    ...[true, false, 0, -1.5, 'on', null].map((to): [string, object] => [`to ${to}`, graphOf([{ ...heat, to }])]),
    ['with an alarm that ends', graphOf([{ ...siren, to: 'inactive' }])],
    ...['value', 'previous', 'device', 'time', 'meta', 'meta.site', 'meta.site.floor', 'meta.a..b'].map(
      (name): [string, object] => [`that reads ${name}`, graphOf([heat, { ...hot, logic: { var: name } }], 'heat hot')],
    ),
    ['with a throttle of a second', graphOf([heat, { ...hourly, seconds: 1 }], 'heat hourly')],
    ['with a throttle of a week', graphOf([heat, { ...hourly, seconds: 604_800 }], 'heat hourly')],
  ])('%s is accepted unchanged', (_, graph) => {
    expect(Graph.parse(graph)).toEqual(graph)
  })

  test.each<[what: string, node: object, shown: object]>([
    ['a property in hex', { ...heat, propId: '0x2000' }, heat],
    ['a property in decimal', { ...heat, propId: '8192' }, heat],
    ['an alarm by resource name', { ...siren, alarmId: 'crn#alarm:8Hj4wRt6Zp' }, siren],
    [
      'a service with a UUID',
      { ...heat, serviceIdentifier: 'C0A80101-0000-4000-8000-000000000000' },
      { ...heat, serviceIdentifier: 'c0a80101-0000-4000-8000-000000000000' },
    ],
  ])('is normalised for %s', (_, node, shown) => {
    expect(Graph.parse(graphOf([node]))).toEqual(graphOf([shown]))
  })

  const trigger = (more: object) => graphOf([{ ...heat, ...more }])
  const alarm = (more: object) => graphOf([{ ...siren, ...more }])
  const status = (more: object) => graphOf([{ ...gone, ...more }])
  const behind = (node: { id: string; [field: string]: unknown }) => graphOf([heat, node], `heat ${node.id}`)
  const logic = (condition: unknown) => behind({ ...hot, logic: condition })
  /** The message of zod, with path and node. */
  const fault = (path: string, node: string, more = '') =>
    expect.stringMatching(new RegExp(`^nodes\\.${path}: node "${node}": .*${more}`))
  const noneTo = 'no edge may lead to it'
  const loop = ['heat', 'heat']
  const onWhat = 'must be property, alarm or status'
  const ofWhat = 'must be trigger, condition, throttle, email or webhook'
  const property = 'must be the id of a property, such as 8192 or "0x2000"'
  const scalar = 'must be a text, a number, true, false or null'
  const anAlarm = 'must be the id of an alarm or its resource name'
  const unreachable = 'cannot be reached from a trigger'
  const inCycle = 'is part of a cycle'
  const name = 'must be value, previous, device, time, meta or meta.<key>'

  type Refused = [what: string, graph: unknown, faults: unknown]
  test.each<Refused>([
    // Single nodes.
    ['a trigger of an unknown kind', trigger({ on: 'time' }), `nodes.0.on: node "heat": ${onWhat}`],
    ['a trigger without an event', graphOf([{ id: 'a', type: 'trigger' }]), `nodes.0.on: node "a": ${onWhat}`],
    ['a node of another type', behind({ id: 'sms', type: 'sms' }), `nodes.1.type: node "sms": ${ofWhat}`],
    ['a node without a type', graphOf([{ id: 'a' }]), `nodes.0.type: node "a": ${ofWhat}`],
    ['a node that is not an object', graphOf([heat, null]), expect.stringMatching(/^nodes\.1: (?!node)/)],
    ['a property without service', trigger({ serviceIdentifier: undefined }), fault('0.serviceIdentifier', 'heat')],
    ['a property of an invalid service', trigger({ serviceIdentifier: 'a b' }), fault('0.serviceIdentifier', 'heat')],
    ['a property without an id', trigger({ propId: undefined }), `nodes.0.propId: node "heat": ${property}`],
    ['a property by a name', trigger({ propId: 'Temperature' }), `nodes.0.propId: node "heat": ${property}`],
    ['a property with a fraction as id', trigger({ propId: 0.5 }), fault('0.propId', 'heat')],
    ['a property id of five bytes', trigger({ propId: 2 ** 32 }), fault('0.propId', 'heat')],
    ['a property with an alarm', trigger({ alarmId: '8Hj4wRt6Zp' }), fault('0', 'heat', 'alarmId')],
    ['a property with a list as value', trigger({ to: [1] }), `nodes.0.to: node "heat": ${scalar}`],
    ['a property with an object as value', trigger({ to: {} }), `nodes.0.to: node "heat": ${scalar}`],
    ['a property with a lone surrogate', trigger({ to: '\ud800' }), fault('0.to', 'heat')],
    ['an alarm without an id', alarm({ alarmId: undefined }), fault('0.alarmId', 'siren')],
    ['an alarm with an invalid id', alarm({ alarmId: 'too hot' }), `nodes.0.alarmId: node "siren": ${anAlarm}`],
    ['a group as alarm', alarm({ alarmId: 'crn#group:8Hj4wRt6Zp' }), `nodes.0.alarmId: node "siren": ${anAlarm}`],
    ['an alarm with the state true', alarm({ to: true }), fault('0.to', 'siren')],
    ['an alarm with a property', alarm({ propId: 1 }), fault('0', 'siren', 'propId')],
    ['an unknown status', status({ to: 'asleep' }), fault('0.to', 'gone')],
    ['a status with a service', status({ serviceIdentifier: 'Climate' }), fault('0', 'gone', 'serviceIdentifier')],
    ['a condition without logic', behind({ id: 'hot', type: 'condition' }), fault('1.logic', 'hot')],
    ['an unknown operator', logic({ and: [true, { cat: [1] }] }), fault('1.logic.and.1', 'hot', 'one key')],
    ['logic of many nodes', logic({ and: Array(256).fill(1) }), fault('1.logic', 'hot', '256 nodes')],
    ['an unknown name', logic({ '>': [1, { var: 'Heat' }] }), `nodes.1.logic.>.1.var: node "hot": ${name}`],
    ['a metadata name without a key', logic({ var: ['meta.', 1] }), `nodes.1.logic.var.0: node "hot": ${name}`],
    ['a name of a prototype', logic({ var: '__proto__' }), `nodes.1.logic.var: node "hot": ${name}`],
    [
      'unknown missing names',
      logic({ missing: ['value', 'values', 'status'] }),
      [`nodes.1.logic.missing.1: node "hot": ${name}`, `nodes.1.logic.missing.2: node "hot": ${name}`],
    ],
    ['a condition with a template', behind({ ...hot, template: 'a' }), fault('1', 'hot', 'template')],
    ['a throttle without seconds', behind({ id: 'hourly', type: 'throttle' }), fault('1.seconds', 'hourly')],
    ['a throttle of zero seconds', behind({ ...hourly, seconds: 0 }), fault('1.seconds', 'hourly')],
    ['a throttle of more than a week', behind({ ...hourly, seconds: 604_801 }), fault('1.seconds', 'hourly')],
    ['a throttle with a fraction of a second', behind({ ...hourly, seconds: 1.5 }), fault('1.seconds', 'hourly')],
    ['an email without a template', behind({ id: 'notify', type: 'email' }), fault('1.template', 'notify')],
    ['an email with a bad template', behind({ ...notify, template: 'a b' }), fault('1.template', 'notify', 'letters')],
    ['an email with a recipient', behind({ ...notify, to: 'a@b.de' }), fault('1', 'notify', 'to')],
    ['a webhook without a URL', behind({ id: 'hook', type: 'webhook' }), fault('1.url', 'hook')],
    ...[
      ...['', 'example.com', '/hook', 'ftp://example.com', 'https://', 'https://a b', 'https://ann:pw@example.com'],
      ...[
        'https://ann@example.com',
        'https://example.com/#a',
        'https:\\\\example.com',
        `https://a/${'a'.repeat(2_048)}`,
      ],
    ].map((url): Refused => [`the URL ${url}`, behind({ ...hook, url }), fault('1.url', 'hook')]),
    ...[
      ...['', 'whsec_', 'secret', 'whsec_c2hvcnQ=', `whsec_${'A'.repeat(88)}`],
      'whsec_!fKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    ].map((secret): Refused => [`the secret ${secret}`, behind({ ...hook, secret }), fault('1.secret', 'hook')]),
    ['an id with a space', trigger({ id: 'too hot' }), 'nodes.0.id: must consist of letters, digits and . _ -'],
    ['a long id', trigger({ id: 'a'.repeat(65) }), expect.stringMatching(/^nodes\.0\.id: /)],
    ['no id', trigger({ id: undefined }), expect.stringMatching(/^nodes\.0\.id: /)],
    // Limits.
    ['no nodes', graphOf([]), expect.stringMatching(/^nodes: /)],
    ['65 nodes', chain(graphNodesMax), 'nodes: must be at most 64 nodes'],
    ['257 edges', { nodes: [heat], edges: Array(graphEdgesMax + 1).fill(loop) }, 'edges: must be at most 256 edges'],
    [
      'too many bytes',
      graphOf([heat, ...Array.from({ length: 5 }, (_, n) => ({ ...hot, id: `c${n}`, logic: 'a'.repeat(16_000) }))]),
      ': must be at most 65536 bytes as JSON',
    ],
    ['no edges', { nodes: [heat] }, expect.stringMatching(/^edges: /)],
    ['an edge of three elements', { nodes: [heat], edges: [[...loop, 'heat']] }, expect.stringMatching(/^edges\.0: /)],
    ['an unknown field', { ...good, name: 'a' }, expect.stringMatching(/^: .*name/)],
    ['a text instead', 'graph', expect.stringMatching(/^: /)],
    ['nothing instead', undefined, expect.stringMatching(/^: /)],
    // Connections.
    ['a duplicate id', graphOf([heat, { ...hot, id: 'heat' }]), 'nodes.1.id: node "heat": has the id of another node'],
    ['an edge to an unknown node', graphOf([heat], 'heat hot'), 'edges.0.1: node "hot": does not exist'],
    ['an edge from nowhere', graphOf([heat, hot], 'heat hot, cold hot'), 'edges.1.0: node "cold": does not exist'],
    ['an edge to a prototype', graphOf([heat], 'heat constructor'), 'edges.0.1: node "constructor": does not exist'],
    ['a duplicate edge', graphOf([heat, hot], 'heat hot, heat hot'), 'edges.1: node "heat": leads to hot twice'],
    ['an edge to a trigger', graphOf([heat, gone], 'heat gone'), `edges.0: node "gone": is a trigger: ${noneTo}`],
    [
      'an edge from an email',
      graphOf([heat, notify, hot], 'heat notify, notify hot'),
      'edges.1: node "notify": is a mail: no edge may lead from it',
    ],
    [
      'an edge from a webhook',
      graphOf([heat, hook, hot], 'heat hook, hook hot'),
      'edges.1: node "hook": is a webhook: no edge may lead from it',
    ],
    ['no trigger', graphOf([hot]), 'nodes: must have a trigger'],
    ['a cycle of one node', graphOf([heat, hot], 'heat hot, hot hot'), `nodes.1: node "hot": ${inCycle}`],
    ['a cycle of two nodes', chain(2, { isClosed: true }), `nodes.1: node "c0": ${inCycle}`],
    ['a cycle of all nodes', chain(63, { isClosed: true }), `nodes.1: node "c0": ${inCycle}`],
    ['a separate cycle', graphOf([heat, hot, hourly], 'hot hourly, hourly hot'), `nodes.1: node "hot": ${inCycle}`],
    [
      'an unreachable node',
      graphOf([heat, hot, hourly, notify], 'heat hot, hourly notify'),
      [`nodes.2: node "hourly": ${unreachable}`, `nodes.3: node "notify": ${unreachable}`],
    ],
    [
      'two pieces',
      graphOf([heat, gone, hot, notify], 'gone notify, heat hot'),
      'nodes.1: node "gone": is not connected with heat',
    ],
    ['two triggers without a connection', graphOf([siren, gone]), 'nodes.1: node "gone": is not connected with siren'],
  ])('with %s is refused', (_, graph, faults) => {
    expect(faultsOf(graph)).toEqual([faults].flat())
  })

  test('is refused with a fault for each of several nodes', () => {
    const nodes = [
      { ...heat, propId: -1 },
      { ...hourly, seconds: 0 },
    ]
    expect(faultsOf(graphOf(nodes))).toEqual([fault('0.propId', 'heat'), fault('1.seconds', 'hourly')])
  })

  test('with very many nodes is refused before each node is checked', () => {
    expect(faultsOf({ nodes: Array(100_000).fill({}), edges: [] })).toHaveLength(1)
  })
})
