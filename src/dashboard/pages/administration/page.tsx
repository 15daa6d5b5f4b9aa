import { navigateTo, pathOf } from '#dashboard/components/link'
import { Empty, Page } from '#dashboard/components/page'
import { Tabs } from '#dashboard/components/tabs'
import { useObservable } from '#dashboard/components/use-observable'
import { Audit } from '#dashboard/pages/administration/audit'
import { ApiKeys, ProvisioningKeys, SigningKeys } from '#dashboard/pages/administration/keys'
import { Roles } from '#dashboard/pages/administration/roles'
import { Sessions } from '#dashboard/pages/administration/sessions'
import { selectedTenant, TenantChoice } from '#dashboard/pages/administration/tenant-choice'
import { Tenants } from '#dashboard/pages/administration/tenants'
import { Users } from '#dashboard/pages/administration/users'
import type { PageProps } from '#dashboard/routes'
import { mayUser, session } from '#dashboard/session'
import '#dashboard/pages/administration/administration.css'

/** Users, roles, tenants, keys, sessions, and the audit. Contract 2. */

/** The tabs that the user may open. `isOfTenant`: a tab shows data of one tenant, which the user may choose. */
function visibleTabs() {
  const [mayUsers, mayDevices] = [mayUser('users', 'read'), mayUser('device', 'read')]
  const [mayRoles, mayTenants] = [mayUser('roles', 'read'), mayUser('tenants', 'read')]
  const keys = [mayDevices && <ProvisioningKeys key="provisioning" />, mayUsers && <ApiKeys key="api" />]
  const tenants = [<Tenants key="tenants" />, <SigningKeys key="signing" />]
  return [
    { id: 'users', title: 'Users', isVisible: mayUsers, isOfTenant: true, content: <Users /> },
    { id: 'roles', title: 'Roles', isVisible: mayRoles, isOfTenant: true, content: <Roles /> },
    { id: 'tenants', title: 'Tenants', isVisible: mayTenants, isOfTenant: false, content: tenants },
    { id: 'keys', title: 'Keys', isVisible: mayDevices || mayUsers, isOfTenant: true, content: keys },
    { id: 'sessions', title: 'Sessions', isVisible: mayUsers, isOfTenant: true, content: <Sessions /> },
    { id: 'audit', title: 'Audit', isVisible: mayUser('audit', 'read'), isOfTenant: false, content: <Audit /> },
  ].filter(({ isVisible }) => isVisible)
}

export default function AdministrationPage({ params }: PageProps) {
  const tenant = useObservable(selectedTenant)
  if (session.value.state === 'IAM off') {
    return (
      <Page title="Administration">
        <Empty title="Authentication is off" command="IAM=on npm start">
          <p>
            This server runs with <code>IAM=off</code>: anyone who can reach it may do everything, and there are no
            users, roles or keys. Start it with authentication on; it prints the first administrator’s password once.
          </p>
        </Empty>
        <Audit />
      </Page>
    )
  }
  const visible = visibleTabs()
  const tab = visible.find(({ id }) => id === params.tab) ?? visible[0]
  if (!tab) {
    return (
      <Page title="Administration">
        <Empty title="Your roles do not permit this page">
          Ask an administrator of this tenant for a role that does.
        </Empty>
      </Page>
    )
  }
  const select = (id: string) => navigateTo(pathOf('administration', id), { replace: true })
  return (
    <Page title="Administration" actions={tab.isOfTenant && mayUser('tenants', 'read') ? <TenantChoice /> : undefined}>
      <Tabs label="Administration" tabs={visible} selected={tab.id} onSelect={select}>
        {/* The key contains the tenant, so that no input remains when another tenant is selected. */}
        <div class="stack" key={`${tab.id} ${tenant ?? ''}`}>
          {tab.content}
        </div>
      </Tabs>
    </Page>
  )
}
