import { ConfirmButton } from '#dashboard/components/dialog'
import { Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { CallTable } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { client, mayUser } from '#dashboard/session'

/** The keys that sign tokens: replaced automatically after 90 days, or by hand. Contract 2, Tokens. */
export function SigningKeys() {
  const keys = useCall(() => client.call('GET /iam/signing-keys'), [])
  const tooEarly = 'The signing key was replaced less than a minute ago.'
  return (
    <Section
      title="Signing keys"
      actions={
        mayUser('tenants', 'create') && (
          <ConfirmButton
            button="Replace the signing key"
            confirm="Replace"
            kind="primary"
            onConfirm={() => withExplanation(client.call('POST /iam/signing-keys'), { 409: tooEarly })}
            done="Tokens are signed with a new key from now on"
            onDone={keys.refresh}
          >
            <p>
              Tokens of all tenants are signed with a new key from now on. The previous key stays valid until its last
              token has expired, so no user is signed out.
            </p>
          </ConfirmButton>
        )
      }
    >
      <CallTable
        caption="List of signing keys"
        call={keys}
        rowKey={({ kid }) => kid}
        columns={[
          { title: 'Key', cell: ({ kid }) => <code>{kid}</code> },
          {
            title: 'State',
            cell: ({ retiresAt }) =>
              retiresAt === undefined ? (
                <Status state="current" />
              ) : (
                <Status state="inactive">
                  still valid, retires <Time at={retiresAt} />
                </Status>
              ),
          },
          { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Section>
  )
}
