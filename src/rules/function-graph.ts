import type { Condition } from '#model/condition'
import { isPropertyError, type PropertyState } from '#model/entry'
import type { EmailNode, Graph, GraphNode, WebhookNode } from '#model/graph'
import { isJsonObject, type JsonObject, type JsonValue } from '#model/json-value'
import { CompiledCondition } from '#rules/compiled-condition'
import { ruleBudget, throttleUnits } from '#rules/rule-budget'

/**
 * The graph of a function, in the form in which it runs. After a trigger, nodes are visited in topological order. A
 * node is entered at most once, if a node with an edge to it let the run through. Contract 5.4.
 *
 * A run itself allocates nothing; conditions and the sink may. The graph must have been validated by `Graph`.
 */
export class FunctionGraph {
  readonly id: string
  /**
   * Keys of the throttles, `<function>/<node>`. Under these keys, devices store when each throttle last let an event
   * through.
   */
  readonly throttles: ReadonlySet<string>
  readonly #nodes: readonly GraphNode[]
  readonly #steps: readonly Step[]
  /** The step of each node, by the node's index. */
  readonly #positions: readonly number[]

  constructor(id: string, { nodes, edges }: Graph) {
    this.id = id
    this.#nodes = nodes
    const order = inOrder(nodes, edges)
    this.#positions = nodes.map((_, place) => order.indexOf(place))
    this.#steps = order.map((place) => new Step(id, nodes[place] as GraphNode))
    const places = new Map(nodes.map((node, place) => [node.id, place]))
    const positionOf = (node: string) => this.#positions[places.get(node) as number] as number
    for (const [from, to] of edges) this.#steps[positionOf(from)]?.leadTo(positionOf(to))
    this.throttles = new Set(this.#steps.flatMap(({ node, key }) => (node.type === 'throttle' ? [key] : [])))
  }

  fits(trigger: number, value: TriggerValue): boolean {
    const node = this.#nodes[trigger]
    if (node?.type !== 'trigger') return false
    if (node.to === undefined) return true
    return node.on === 'alarm' ? value === (node.to === 'active') : value === node.to
  }

  /**
   * Runs the graph from a trigger. `trigger`: its index among the nodes. Callers check `fits` first: `run` does not
   * check the `to` of the trigger.
   */
  run(trigger: number, input: RunInput, sink: RunSink, trace?: RunTrace): void {
    const start = this.#steps[this.#positions[trigger] as number] as Step
    trace?.entered(start.node)
    // Steps that were entered and not run yet, as bits. The lowest one precedes all of its successors.
    let { low, high } = start
    while ((low | high) !== 0) {
      let step: Step
      if (low !== 0) {
        step = this.#steps[lowestBit(low)] as Step
        low &= low - 1
      } else {
        step = this.#steps[wordBits + lowestBit(high)] as Step
        high &= high - 1
      }
      trace?.entered(step.node)
      if (letsThrough(step, input, sink, trace)) {
        low |= step.low
        high |= step.high
      }
    }
  }
}

const wordBits = 32

function lowestBit(word: number): number {
  return wordBits - 1 - Math.clz32(word & -word)
}

/** A node and, as bits, its next steps. */
class Step {
  readonly node: GraphNode
  readonly key: string
  readonly condition: GraphCondition | undefined
  low = 0
  high = 0

  constructor(id: string, node: GraphNode) {
    this.node = node
    this.key = `${id}/${node.id}`
    this.condition = node.type === 'condition' ? new GraphCondition(node.logic) : undefined
  }

  leadTo(position: number): void {
    if (position < wordBits) this.low |= 1 << position
    else this.high |= 1 << (position - wordBits)
  }
}

function letsThrough(step: Step, input: RunInput, sink: RunSink, trace: RunTrace | undefined): boolean {
  const { node } = step
  switch (node.type) {
    case 'trigger':
      return true
    case 'condition':
      return holds(step, input, sink, trace)
    case 'throttle': {
      const passedAt = input.passedAt(step.key)
      const { time } = input
      // A clock that was set back must not extend the throttle.
      if (passedAt !== undefined && time >= passedAt && time - passedAt < node.seconds * 1_000) {
        trace?.stopped(node, 'throttled')
        return false
      }
      ruleBudget.charge(throttleUnits)
      sink.stamped(step.key)
      return true
    }
    case 'email':
    case 'webhook':
      sink.reached(node)
      return false
  }
}

function holds(step: Step, input: RunInput, sink: RunSink, trace: RunTrace | undefined): boolean {
  const condition = step.condition as GraphCondition
  const verdict = condition.evaluate(input)
  if (verdict === 'true') return true
  if (verdict === 'error') sink.failed()
  if (trace) trace.stopped(step.node, verdict === 'no value' ? `no value: ${condition.lacking}` : verdict)
  return false
}

/** Indexes of the nodes in topological order. If several nodes may come next, the one with the lowest index does. */
function inOrder(nodes: readonly GraphNode[], edges: Graph['edges']): readonly number[] {
  const inFront = new Map(nodes.map(({ id }) => [id, 0]))
  for (const [, to] of edges) inFront.set(to, (inFront.get(to) ?? 0) + 1)
  const order: number[] = []
  const waiting = new Set(nodes.keys())
  while (waiting.size > 0) {
    const next = [...waiting].find((place) => inFront.get((nodes[place] as GraphNode).id) === 0)
    if (next === undefined) throw new Error('a graph that was checked has a cycle')
    const { id } = nodes[next] as GraphNode
    waiting.delete(next)
    order.push(next)
    for (const [from, to] of edges) if (from === id) inFront.set(to, (inFront.get(to) ?? 0) - 1)
  }
  return order
}

/** The value of an event: a property value, an alarm's state, or a status. */
export type TriggerValue = PropertyState | boolean

/** The input of a run. One object is reused for all runs, because they are synchronous. */
export interface RunInput {
  value: TriggerValue
  /** Null: there was no previous value. */
  previous: TriggerValue
  device: string
  /** Unix ms, of the server. */
  time: number
  /** Called only if a condition reads metadata. Null: the author may not read it, see `mayReadMeta`. */
  meta: () => JsonObject | null
  /** When a throttle last let an event of this device through, Unix ms. `key`: `<functionId>/<nodeId>`. */
  passedAt: (key: string) => number | undefined
}

/** Receives the results of a run. */
export interface RunSink {
  stamped(key: string): void
  reached(node: EmailNode | WebhookNode): void
  /** A condition failed. A condition that lacks a value is no failure. */
  failed(): void
}

/** For tests of a function by its author: the steps of a run, in order. */
export interface RunTrace {
  entered(node: GraphNode): void
  /** `because`: `false`, `no value: <name>`, `error`, `throttled`. */
  stopped(node: GraphNode, because: string): void
}

/**
 * `no value`: a name that is read without a default has no value. `error`: the evaluation failed, or the work of the
 * turn is used up.
 */
type Verdict = 'true' | 'false' | 'no value' | 'error'

/**
 * Values by slot for the current evaluation. Evaluations are synchronous, so no other evaluation needs them at the same
 * time. The first value is null, because V8 would store a list of only numbers unboxed, and box each at every read.
 */
const values: unknown[] = [null]

const metaStart = 'meta.'

/**
 * A condition of a graph, evaluated over one event. Allocates only when it is compiled, or reads nested fields of
 * `meta`.
 */
class GraphCondition {
  readonly #condition: CompiledCondition
  /** By slot: the path after `meta.`, undefined for all other names. */
  readonly #paths: readonly (string | undefined)[]
  /** The first name without a value, after a result of `no value`. */
  lacking = ''

  constructor(condition: Condition) {
    this.#condition = new CompiledCondition(condition)
    this.#paths = this.#condition.names.map((name) =>
      name.startsWith(metaStart) ? name.slice(metaStart.length) : undefined,
    )
  }

  evaluate(input: RunInput): Verdict {
    if (this.#condition.isCold && !ruleBudget.mayCompile) return 'error'
    const { names, neededCount } = this.#condition
    try {
      for (let slot = 0; slot < names.length; slot++) {
        const value = this.#read(slot, input)
        if (value === null && slot < neededCount) {
          this.lacking = names[slot] as string
          return 'no value'
        }
        values[slot] = value
      }
      return this.#condition.evaluate(values) ? 'true' : 'false'
    } catch {
      return 'error'
    }
  }

  #read(slot: number, input: RunInput): unknown {
    const path = this.#paths[slot]
    if (path !== undefined) return valueIn(input.meta(), path)
    switch (this.#condition.names[slot]) {
      case 'value':
        return stateOf(input.value)
      case 'previous':
        return stateOf(input.previous)
      case 'device':
        return input.device
      case 'time':
        return input.time
      default:
        return input.meta()
    }
  }
}

/** An error counts as no value. */
function stateOf(happened: TriggerValue): unknown {
  return typeof happened === 'object' && isPropertyError(happened) ? null : happened
}

/** The cost of looking up one key in an object. */
const keyUnits = 100

/**
 * The value at a path of keys joined by dots, null for none. Keys may contain dots: at every level the whole rest is
 * tried as a key first, then the longest key that is followed by a dot. Contract 3.7.
 *
 * @throws if the turn exceeds its work limit.
 */
export function valueIn(value: JsonValue, path: string): JsonValue {
  if (!isJsonObject(value)) return null
  ruleBudget.spend(keyUnits)
  if (Object.hasOwn(value, path)) return value[path] as JsonValue
  for (let dot = path.lastIndexOf('.'); dot >= 0; dot = path.lastIndexOf('.', dot - 1)) {
    const key = path.slice(0, dot)
    ruleBudget.spend(keyUnits)
    if (Object.hasOwn(value, key)) return valueIn(value[key] as JsonValue, path.slice(dot + 1))
    if (dot === 0) break
  }
  return null
}
