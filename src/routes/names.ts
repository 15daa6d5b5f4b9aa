import { tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { graphNodesMax } from '#model/graph'
import { boundGroupsMax } from '#model/group'
import { isServerMadeId, parsePropertyKey, serviceIdentifierOf } from '#model/identifier'
import { Problem, type ProblemDetail } from '#model/problem'
import { servicesWithin } from '#model/scope'
import { propIdOfName } from '#model/service-schema'
import { isVisible, membersIn, schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'

/**
 * Replaces names in request bodies by identifiers. A service has the name of its schema; properties, alarms and groups
 * have names of their own. The body is validated afterwards, so validation and handlers only see identifiers.
 *
 * The identifier of an existing object is not replaced. Only names that the caller may read are found.
 */
export function withNames(context: RouteContext, binding: Binding): Binding {
  if (!binding.entry.body?.acceptsNames) return binding
  return {
    ...binding,
    resolve: (caller, body) => new Names(caller, context.system.wake(tenantAddress(caller.tenant))).body(body),
  }
}

type Fields = Readonly<Record<string, unknown>>

class Names {
  readonly #caller: Caller
  readonly #tenant: TenantState
  readonly #faults: ProblemDetail[] = []

  constructor(caller: Caller, tenant: TenantState) {
    this.#caller = caller
    this.#tenant = tenant
  }

  /** @throws Problem `invalid` that names every unknown or ambiguous name */
  body(body: unknown): unknown {
    if (!isFields(body)) return body
    const { binding, graph } = body
    const resolved = {
      ...this.#fields(body, ''),
      ...(isFields(binding) && { binding: this.#fields(binding, 'binding.') }),
      ...(isFields(graph) && { graph: this.#graph(graph) }),
    }
    if (this.#faults.length > 0) throw new Problem('invalid', undefined, { details: this.#faults })
    return resolved
  }

  /** A list with too many nodes is returned as it is: validation refuses it. */
  #graph(graph: Fields): Fields {
    const { nodes } = graph
    if (!Array.isArray(nodes) || nodes.length > graphNodesMax) return graph
    return {
      ...graph,
      nodes: nodes.map((node, place) => (isFields(node) ? this.#fields(node, `graph.nodes.${place}.`) : node)),
    }
  }

  #fields(fields: Fields, path: string): Fields {
    const { serviceIdentifier, propId, alarmId, groups } = fields
    const service =
      typeof serviceIdentifier === 'string'
        ? this.#idOf('service', serviceIdentifier, `${path}serviceIdentifier`)
        : serviceIdentifier
    return {
      ...fields,
      ...(service !== undefined && { serviceIdentifier: service }),
      ...(typeof propId === 'string' && { propId: this.#propIdOf(propId, service, `${path}propId`) }),
      ...(typeof alarmId === 'string' && { alarmId: this.#idOf('alarm', alarmId, `${path}alarmId`) }),
      ...(Array.isArray(groups) &&
        groups.length <= boundGroupsMax && {
          groups: groups.map((group, place) =>
            typeof group === 'string' ? this.#idOf('group', group, `${path}groups.${place}`) : group,
          ),
        }),
    }
  }

  #idOf(kind: Kind, text: string, path: string): string {
    const { isKnown, isIdentifier, named } = kinds[kind](this.#tenant, this.#caller)
    if (isKnown(text)) return text
    const [id, another] = named(text)
    if (id !== undefined && another === undefined) return id
    if (id === undefined && isIdentifier(text)) return text
    const name = JSON.stringify(text.slice(0, shownCharactersMax))
    const message =
      id === undefined
        ? `there is no ${kind} named ${name}`
        : `${name} is the name of several ${kind}s, such as ${id} and ${another}: give the identifier`
    this.#faults.push({ path, message })
    return text
  }

  #propIdOf(text: string, service: unknown, path: string): number | string {
    if (parsePropertyKey(text) !== undefined || typeof service !== 'string') return text
    const schema = schemasFor(this.#caller, this.#tenant).get(service)
    const propId = schema && propIdOfName(schema, text)
    if (propId === undefined) {
      const name = JSON.stringify(text.slice(0, shownCharactersMax))
      this.#faults.push({ path, message: `the service has no property named ${name}; an id is 8192 or "0x2000"` })
    }
    return propId ?? text
  }
}

const shownCharactersMax = 64

type Kind = 'service' | 'alarm' | 'group'

interface Lookup {
  /** Whether an object has this identifier. */
  readonly isKnown: (text: string) => boolean
  /** Whether the text has the form of an identifier. */
  readonly isIdentifier: (text: string) => boolean
  /** The first two identifiers with this name, as far as the caller may read them. */
  readonly named: (name: string) => readonly string[]
}

const kinds: Readonly<Record<Kind, (tenant: TenantState, caller: Caller) => Lookup>> = {
  service: ({ schemas }, { scope }) => {
    const mayRead = servicesWithin(scope, 'schemas', 'read')
    return {
      isKnown: (text) => schemas.has(serviceIdentifierOf(text) ?? ''),
      isIdentifier: (text) => serviceIdentifierOf(text) !== undefined,
      named: (name) => firstTwo(schemas, (schema, id) => schema.name === name && mayRead(id)),
    }
  },
  alarm: (tenant, { scope }) => ({
    isKnown: (text) => tenant.alarms.has(text),
    isIdentifier: (text) => isServerMadeId(text) || idOfCrn(text, 'alarm') !== undefined,
    named: (name) =>
      firstTwo(
        tenant.alarms,
        (alarm) => alarm.name === name && isVisible(scope, 'alarms', 'read', alarm, membersIn(tenant)),
      ),
  }),
  group: (tenant, { scope }) => ({
    isKnown: (text) => tenant.groups.has(text),
    isIdentifier: (text) => isServerMadeId(text) || idOfCrn(text, 'group') !== undefined,
    named: (name) =>
      firstTwo(
        tenant.groups,
        ({ name: each, devices }) =>
          each === name && isVisible(scope, 'functions', 'read', { devices, groups: null }, membersIn(tenant)),
      ),
  }),
}

function firstTwo<Value>(all: ReadonlyMap<string, Value>, isFound: (value: Value, id: string) => boolean): string[] {
  const found: string[] = []
  for (const [id, value] of all) {
    if (isFound(value, id)) found.push(id)
    if (found.length === 2) break
  }
  return found
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
