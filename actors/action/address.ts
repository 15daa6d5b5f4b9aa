import type { ActionCommand, ActionPageCommand } from '#actors/action/commands'
import type { ActorAddress } from '#runtime/actor'

export function actionAddress(tenant: string, id: string): ActorAddress<unknown, ActionCommand> {
  return { kind: 'action', tenant, id }
}

/** Pages are numbered from 0. */
export function actionPageAddress(
  tenant: string,
  action: string,
  page: number,
): ActorAddress<unknown, ActionPageCommand> {
  return { kind: 'action_page', tenant, id: `${action}.${page}` }
}
