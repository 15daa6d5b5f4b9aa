import { z } from 'zod'
import * as alarmsApi from '#api/alarms'
import * as answersApi from '#api/answers'
import * as functionsApi from '#api/functions'
import * as healthApi from '#api/health'
import * as historyApi from '#api/history'
import * as historySelectionApi from '#api/history-selection'
import * as secondFactorsApi from '#api/second-factors'
import * as sessionsApi from '#api/sessions'
import * as signInApi from '#api/sign-in'
import * as stateApi from '#api/state-shape'
import * as projectsApi from '#api/update-projects'
import * as usersApi from '#api/users'
import * as writesApi from '#api/writes'
import * as action from '#model/action'
import * as alarm from '#model/alarm'
import * as condition from '#model/condition'
import * as crn from '#model/crn'
import * as desired from '#model/desired'
import * as firmware from '#model/firmware'
import * as fn from '#model/function'
import * as graph from '#model/graph'
import * as group from '#model/group'
import * as identifier from '#model/identifier'
import * as linkMessage from '#model/link-message'
import * as meta from '#model/meta'
import * as property from '#model/property'
import * as propertyType from '#model/property-type'
import * as propertyWrite from '#model/property-write'
import * as release from '#model/release'
import * as role from '#model/role'
import * as rollout from '#model/rollout'
import * as scope from '#model/scope'
import * as serviceSchema from '#model/service-schema'
import * as subscription from '#model/subscription'
import * as template from '#model/template'
import * as tenant from '#model/tenant'
import * as user from '#model/user'

/** Modules whose exported schemas have names. If a schema has two names, the first one counts. */
const modules: readonly object[] = [
  identifier,
  crn,
  propertyType,
  property,
  propertyWrite,
  serviceSchema,
  meta,
  condition,
  scope,
  role,
  user,
  tenant,
  group,
  alarm,
  graph,
  fn,
  template,
  subscription,
  action,
  desired,
  firmware,
  release,
  rollout,
  linkMessage,
  answersApi,
  stateApi,
  writesApi,
  alarmsApi,
  functionsApi,
  usersApi,
  signInApi,
  secondFactorsApi,
  sessionsApi,
  projectsApi,
  healthApi,
  historyApi,
  historySelectionApi,
]

/**
 * The schemas by the names of their exports. Throws if two schemas share a name, because the document would show only
 * one of them.
 */
export function namedSchemas(): ReadonlyMap<string, z.ZodType> {
  const named = new Map<string, z.ZodType>()
  for (const [name, value] of modules.flatMap((module) => Object.entries(module))) {
    // Fields of queries are described with their routes.
    if (!(value instanceof z.ZodType) || !/^[A-Z]/.test(name) || name.endsWith('Query')) continue
    const other = named.get(name)
    if (other && other !== value) throw new Error(`two schemas are named ${name}`)
    if (![...named.values()].includes(value)) named.set(name, value)
  }
  return named
}
