import { type Grant, holds, type Names, permissionsOf, type Reach, reachOf, type Scope, scopeOf } from '#model/scope'

/**
 * Whether a scope allows everything that some grants allow: nobody may give, edit or reset beyond his own grants.
 * Contract 2, Model.
 *
 * `*` as a resource is covered only by `*`, because it means more than what exists today. A grant also says something
 * where its products are empty: that a resource may be entered at all, and devices or services as a whole.
 */
export function covers(mine: Scope, theirs: readonly Grant[]): boolean {
  let wild: Scope | undefined
  return theirs.every((grant) => {
    const reach = reachOf(grant)
    // Most resources are given by the same grants, and their reaches are then one array.
    const lists = new Set<readonly Reach[]>()
    for (const [resource, action] of permissionsOf(grant)) {
      if (resource !== '*') lists.add(mine.reaches(resource, action))
      else {
        wild ??= wildOf(mine)
        lists.add(wild.reaches('service', action))
      }
    }
    return [...lists].every((reaches) => isInside(reach, reaches))
  })
}

/** Of grants only what they give on any resource: on each resource it gives the same. */
function wildOf({ grants }: Scope): Scope {
  return scopeOf(grants.map((grant) => ({ ...grant, permissions: { '*': grant.permissions['*'] ?? [] } })))
}

/** Whether a product lies inside of a union of products. */
function isInside(reach: Reach, union: readonly Reach[]): boolean {
  if (union.some((one) => contains(one.devices, reach.devices) && contains(one.services, reach.services))) return true
  if (union.length === 0) return false
  // Devices as a whole (contract 3.1: services don't narrow them), services as a whole, and then the products themselves.
  if (!areHeld(reach.devices, union.map(devicesOf)) || !areHeld(reach.services, union.map(servicesOf))) return false
  const services = reach.services === '*' ? ['*'] : reach.services
  for (const service of services) {
    const holders = union.filter((one) => holds(one.services, service))
    if (!areHeld(reach.devices, holders.map(devicesOf))) return false
  }
  return true
}

/** Whether each name is in one or another of these. Of `*`, only `*` has all. */
function areHeld(names: Names, holders: readonly Names[]): boolean {
  if (holders.includes('*')) return true
  if (names === '*') return false
  for (const name of names) if (!holders.some((held) => holds(held, name))) return false
  return true
}

function contains(names: Names, others: Names): boolean {
  return areHeld(others, [names])
}

const devicesOf = (reach: Reach): Names => reach.devices
const servicesOf = (reach: Reach): Names => reach.services
