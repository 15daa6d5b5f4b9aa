import type { IdentityNotices } from '#actors/notice-bus'
import { RecordedLines } from '#test/actors/recorded-lines'

export class RecordingNotices extends RecordedLines implements IdentityNotices {
  sessionEnded: IdentityNotices['sessionEnded'] = (tenant, session) => {
    this.lines.push(`session ${tenant}/${session} ended`)
  }

  roleChanged: IdentityNotices['roleChanged'] = (tenant, role, stored) => {
    this.lines.push(`role ${tenant}/${role} ${stored ? `since ${stored.since}` : 'gone'}`)
  }

  userChanged: IdentityNotices['userChanged'] = (user, row) => {
    const state = row ? `of ${row.tenant} ${row.state} ${row.roles.join()} since ${row.rolesSince}` : 'gone'
    this.lines.push(`user ${user} ${state}`)
  }

  tenantChanged: IdentityNotices['tenantChanged'] = (tenant, row) => {
    this.lines.push(`tenant ${tenant} ${row?.state ?? 'gone'}`)
  }

  keyEnded: IdentityNotices['keyEnded'] = (tenant, key, kind) => {
    this.lines.push(`${kind} ${tenant}/${key} ended`)
  }

  signingKeyChanged: IdentityNotices['signingKeyChanged'] = (kid, stored) => {
    this.lines.push(`signing key ${kid} ${stored ? `retires at ${stored.retiresAt}` : 'gone'}`)
  }

  signingKeyIsOld: IdentityNotices['signingKeyIsOld'] = () => {
    this.lines.push('the signing key is old')
  }
}
