import type { Accesses } from '#access/accesses'
import { isHashOf, readBasic, readProvisioningKey, tokenHash } from '#access/secret-text'
import { deviceAddress, secretRecord, tokenRecord } from '#actors/device/device'
import { deviceTokenAddress, ownerRecord, type TokenOwner } from '#actors/device-token/device-token'
import { activeTenants } from '#actors/directory/queries'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant, isExpired } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { deviceIdentifierOf, isDeviceToken } from '#model/identifier'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'

/** The caller of a device connection: one device, or a gateway with a provisioning key. Contract 7. */
export interface LinkCaller {
  readonly tenant: string
  /** If present, the connection is for this device only. */
  readonly device?: string
  /** The id of the gateway's provisioning key. */
  readonly key?: string
}

export interface LinkCredentialsParts {
  readonly system: System<Entry>
  readonly accesses: Accesses
}

/** A gateway sends this instead of a device identifier. */
const anyDevice = '*'

/**
 * `Authorization: Basic <tenant>/<deviceIdentifier>:<secret>`, or `<tenant>/*:<provisioningKey>`; tenant `default`
 * may be omitted. Both secrets are 256 random bits, so they need no slow password hash. Such a hash would delay ten
 * thousand devices that reconnect at once. Contract 7.
 */
export class LinkCredentials {
  readonly #parts: LinkCredentialsParts

  constructor(parts: LinkCredentialsParts) {
    this.#parts = parts
  }

  /** @throws Problem `unauthorized` */
  callerOf(authorization: string): LinkCaller {
    if (authorization === '') throw new Problem('unauthorized', 'authentication required')
    const credentials = readBasic(authorization)
    const caller = credentials && this.callerBy(credentials.name, credentials.password)
    if (!caller) throw new Problem('unauthorized', 'invalid credentials')
    return caller
  }

  /** `name`: `[<tenant>/]<deviceIdentifier>` or `[<tenant>/]*`. Undefined if name and secret do not match. */
  callerBy(name: string, secret: string): LinkCaller | undefined {
    const slash = name.indexOf('/')
    const tenant = slash < 0 ? defaultTenant : name.slice(0, slash)
    const device = name.slice(slash + 1)
    if (!this.#parts.accesses.hasTenant(tenant)) return undefined
    return device === anyDevice ? this.#gatewayOf(tenant, secret) : this.#deviceOf(tenant, device, secret)
  }

  /** Finds the caller by a device token, or by the text of a provisioning key of any tenant. */
  callerByToken(text: string): LinkCaller | undefined {
    const { system, accesses } = this.#parts
    const owner = isDeviceToken(text) ? ownerOfToken(system, tokenHash(text)) : undefined
    if (owner && accesses.hasTenant(owner.tenant)) return owner
    if (!readProvisioningKey(text)) return undefined
    for (const tenant of activeTenants(system)) {
      const caller = this.#gatewayOf(tenant, text)
      if (caller) return caller
    }
    return undefined
  }

  #gatewayOf(tenant: string, text: string): LinkCaller | undefined {
    const { system } = this.#parts
    const id = readProvisioningKey(text)?.id
    const key = id === undefined ? undefined : system.wake(tenantAddress(tenant)).provisioningKeys.get(id)
    if (id === undefined || !key || isExpired(key, system.world.now()) || !isHashOf(text, key.hash)) return undefined
    return { tenant, key: id }
  }

  #deviceOf(tenant: string, name: string, secret: string): LinkCaller | undefined {
    const device = deviceIdentifierOf(name)
    if (device === undefined) return undefined
    const hash = this.#parts.system.recordOf(deviceAddress(tenant, device), secretRecord)
    return hash instanceof Uint8Array && isHashOf(secret, hash) ? { tenant, device } : undefined
  }
}

/** The device that has the token with this hash now. @throws Problem `storage` */
export function ownerOfToken(system: System<Entry>, hash: string): TokenOwner | undefined {
  const owner = system.recordOf(deviceTokenAddress(hash), ownerRecord) as TokenOwner | undefined
  return owner && system.recordOf(deviceAddress(owner.tenant, owner.device), tokenRecord) === hash ? owner : undefined
}
