import { BoundedMap } from '#access/bounded-map'
import { anonymous } from '#access/built-in-callers'
import { isTenantActive, rowById, rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import { type AuditRow, auditIndex, defaultTenant, logEntry } from '#actors/tenant/state'
import type { RouteEntry } from '#api/route-entry'
import type { Call, Reply } from '#http/call'
import type { Audit, AuditedRequest } from '#http/request-log'
import type { Principal } from '#model/caller'
import { type CrnType, crnTypes, idOfCrn, parseCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import type { Log } from '#runtime/log'
import type { System } from '#runtime/system'

/** Longer than the path of any resource. A longer path is cut, and ends with `…`. */
const pathCharactersMax = 512

/**
 * The rates at which refused requests are stored, for each caller and for all callers of a tenant together. Further
 * refusals are only counted. A tenant has two totals: refusals of authenticated callers, and of all others. In the 90
 * days that the log covers, each total fills less than half of it, so refusals never displace all changes.
 */
const refusals = {
  ofOne: { atOnce: 1_000, perSecond: 0.01 },
  ofTenant: { atOnce: 5_000, perSecond: 0.05 },
}
const bucketsMax = 65_536

/** For a segment of a path, the type of the resource that the next segment names: in `/users/:name`, a user. */
const resourceTypes: Readonly<Record<string, CrnType>> = {
  alarms: 'alarm',
  'api-keys': 'key',
  devices: 'device',
  functions: 'function',
  groups: 'group',
  hook: 'project',
  meta: 'device',
  projects: 'project',
  'provisioning-keys': 'key',
  roles: 'role',
  subscribe: 'subscription',
  templates: 'template',
  tenants: 'tenant',
  unsubscribe: 'subscription',
  updates: 'device',
  users: 'user',
}

export interface AuditLogOptions {
  readonly system: System<Entry>
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Whether each entry is also written to the log. */
  readonly isLogged: boolean
}

/** The changes and sign-ins of people and programs, including refused ones. Contract 12, Audit. */
export class AuditLog implements Audit {
  readonly #options: AuditLogOptions
  readonly #refusals = new BoundedMap<string, Bucket>(bucketsMax)
  /** Orders entries of the same millisecond. It begins at random, so that no other process has the same numbers. */
  #number: number
  /** `dropped`: refusals that were not stored, because of the rates or because the store accepted no writes. */
  readonly counts = { stored: 0, dropped: 0 }

  constructor(options: AuditLogOptions) {
    this.#options = options
    this.#number = Buffer.from(options.system.world.random(6)).readUIntBE(0, 6)
  }

  resourceOfPath({ path }: RouteEntry, call: Call): string | undefined {
    const parts = path.split('/')
    const place = parts.findIndex((part, at) => resourceTypes[part] && parts[at + 1]?.startsWith(':'))
    return this.#crnOf(parts[place], Object(call.parameters)[parts[place + 1]?.slice(1) ?? ''], call)
  }

  resourceOfReply({ path }: RouteEntry, call: Call, { json }: Reply): string | undefined {
    const { resourceIdentifier, deviceIdentifier, id = deviceIdentifier } = Object(json)
    return resourceIdentifier ?? this.#crnOf(path.split('/').at(-1), id, call)
  }

  #crnOf(part = '', name: unknown, { caller, query }: Call): string | undefined {
    const type = resourceTypes[part]
    if (!type || typeof name !== 'string') return undefined
    const { tenant = caller.tenant } = Object(query)
    const id = type === 'user' ? rowByName(this.#options.system.peek(directoryAddress), name)?.id : name
    const text = `crn#${type}:${crnTypes[type] === 'named' ? `${tenant}/` : ''}${id}`
    return parseCrn(text) && text
  }

  async add(request: AuditedRequest): Promise<void> {
    const { user, address, method, path, resourceIdentifier, status } = request
    const { world } = this.#options.system
    const tenant = user?.tenant ?? defaultTenant
    const isRefused = status >= 400
    if (isRefused && !this.#mayAdd(tenant, user)) {
      this.counts.dropped++
      return
    }
    const row: AuditRow = {
      at: world.now(),
      user: user?.user ?? anonymous.user,
      name: user ? this.#nameOf(user) : anonymous.name,
      address,
      method,
      path: path.length <= pathCharactersMax ? path : `${path.slice(0, pathCharactersMax - 1)}…`,
      ...(resourceIdentifier !== undefined && { resourceIdentifier }),
      status,
    }
    if (this.#options.isLogged) this.#options.log.info({ tenant, ...row }, 'audit')
    const stored = this.#store(tenant, row).catch((err: unknown) =>
      this.#options.log.warn({ err, tenant, ...row }, 'an entry of the audit was not stored'),
    )
    if (!isRefused) await stored
  }

  async #store(tenant: string, row: AuditRow): Promise<void> {
    const system = this.#options.system
    // The tenant is being deleted, and its entries with it.
    if (!isTenantActive(system, tenant)) return
    const entry = logEntry(row.at, this.#number++, JSON.stringify(row))
    const change = { type: 'change_log', index: auditIndex, entries: [entry], isPresent: true } as const
    await system.ask(tenantAddress(tenant), change, 0)
    this.counts.stored++
  }

  #nameOf(user: NonNullable<AuditedRequest['user']>): string {
    if (isCaller(user)) return user.name
    const { isServing } = this.#options.system
    const id = idOfCrn(user.user, 'user')
    return (isServing && id && rowById(this.#options.system.peek(directoryAddress), id)?.name) || ''
  }

  /** Whether a refusal is stored. False also while the store accepts no writes. */
  #mayAdd(tenant: string, user: AuditedRequest['user']): boolean {
    const { isServing, gate } = this.#options.system
    if (!isServing || !gate.isOpen || gate.isFull) return false
    const ofTenant = `${isCaller(user)}/${tenant}`
    const ofOne = `${ofTenant}/${user?.user ?? ''}`
    return this.#take(ofOne, refusals.ofOne) && this.#take(ofTenant, refusals.ofTenant)
  }

  #take(key: string, { atOnce, perSecond }: (typeof refusals)['ofOne']): boolean {
    const now = this.#options.system.world.monotonic()
    const { left, at } = this.#refusals.get(key) ?? { left: atOnce, at: now }
    const filled = Math.min(atOnce, left + ((now - at) * perSecond) / 1_000)
    this.#refusals.set(key, { left: filled >= 1 ? filled - 1 : filled, at: now })
    return filled >= 1
  }
}

interface Bucket {
  readonly left: number
  /** By `World.monotonic`. */
  readonly at: number
}

function isCaller(user: AuditedRequest['user']): user is Principal & { readonly name: string } {
  return user !== undefined && 'name' in user
}
