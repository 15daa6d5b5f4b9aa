import '#dashboard/pages/account/account.css'
import { PasswordSection } from '#dashboard/pages/account/password-section'
import { SecondFactors } from '#dashboard/pages/account/second-factors'
import { SessionsSection } from '#dashboard/pages/account/sessions-section'
import { Empty } from '#dashboard/parts/empty'
import { Page, Section } from '#dashboard/parts/page'
import { Badge } from '#dashboard/parts/status'
import { session } from '#dashboard/session'

/** One's own: who one is here, the password, second factors, and where else one is signed in. */
export default function AccountPage() {
  const { state, name, tenant, roles = [], permissions } = session.value
  if (state === 'IAM off') {
    return (
      <Page title="Your account">
        <Empty title="Nobody signs in here" command="npm start">
          <p>
            The server runs with <code>IAM=off</code>: whoever reaches it may do everything. Started without that it
            makes an administrator and says his password.
          </p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="Your account">
      <div class="columns">
        <Section title="Who you are here">
          <dl class="facts">
            <dt>Name</dt>
            <dd>{name}</dd>
            <dt>Tenant</dt>
            <dd>{tenant}</dd>
            <dt>Roles</dt>
            <dd>{roles.length === 0 ? 'none' : roles.map((role) => <Badge key={role}>{role}</Badge>)}</dd>
            <dt>You may</dt>
            <dd>
              <ul>
                {Object.entries(permissions).map(([resource, actions]) => (
                  <li key={resource}>
                    {resource}: <span class="soft">{actions.join(', ')}</span>
                  </li>
                ))}
              </ul>
            </dd>
          </dl>
        </Section>
        <PasswordSection />
        <SecondFactors />
      </div>
      <SessionsSection />
    </Page>
  )
}
