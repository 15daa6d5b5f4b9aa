import type { IdentityNotices } from '#actors/notice-bus'

/** Records notices as lines, in their order. */
export class RecordingNotices implements IdentityNotices {
  readonly said: string[] = []

  /** The lines since the last call. */
  get heard(): string[] {
    return this.said.splice(0)
  }

  sessionEnded: IdentityNotices['sessionEnded'] = (tenant, session) => {
    this.said.push(`session ${tenant}/${session} ended`)
  }

  roleChanged: IdentityNotices['roleChanged'] = (tenant, role, stored) => {
    this.said.push(`role ${tenant}/${role} ${stored ? `since ${stored.since}` : 'gone'}`)
  }

  userChanged: IdentityNotices['userChanged'] = (user, row) => {
    this.said.push(
      `user ${user} ${row ? `of ${row.tenant} ${row.state} ${row.roles.join()} since ${row.rolesSince}` : 'gone'}`,
    )
  }

  tenantChanged: IdentityNotices['tenantChanged'] = (tenant, row) => {
    this.said.push(`tenant ${tenant} ${row?.state ?? 'gone'}`)
  }

  keyEnded: IdentityNotices['keyEnded'] = (tenant, key, kind) => {
    this.said.push(`${kind} ${tenant}/${key} ended`)
  }

  signingKeyChanged: IdentityNotices['signingKeyChanged'] = (kid, stored) => {
    this.said.push(`signing key ${kid} ${stored ? `retires at ${stored.retiresAt}` : 'gone'}`)
  }

  signingKeyIsOld: IdentityNotices['signingKeyIsOld'] = () => {
    this.said.push('the signing key is old')
  }
}
