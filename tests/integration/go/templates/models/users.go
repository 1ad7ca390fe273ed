// Package models declares the users of s3-proxy's templates: three kinds with the same methods.
package models

// GenericUser is a user of any kind.
type GenericUser interface {
	GetType() string
	GetIdentifier() string
	GetUsername() string
	GetName() string
	GetGroups() []string
	GetGivenName() string
	GetFamilyName() string
	GetEmail() string
	IsEmailVerified() bool
}

// Recorded is a user of any kind, decoded from JSON.
type Recorded struct {
	Type, Username, PreferredUsername, Name, GivenName, FamilyName, Email string
	Groups                                                                []string
	EmailVerified                                                         bool
}

// Generic returns the user as an object for templates.
func (user *Recorded) Generic() GenericUser {
	switch {
	case user == nil:
		return nil
	case user.Type == "BASIC":
		return &BasicAuthUser{user.Username}
	case user.Type == "HEADER":
		return &HeaderUser{user.Username, user.Email, user.Groups}
	}
	return &OIDCUser{
		user.PreferredUsername, user.Name, user.GivenName, user.FamilyName, user.Email, user.Groups, user.EmailVerified,
	}
}

// BasicAuthUser has signed in by password.
type BasicAuthUser struct{ Username string }

func (*BasicAuthUser) GetType() string            { return "BASIC" }
func (user *BasicAuthUser) GetIdentifier() string { return user.Username }
func (user *BasicAuthUser) GetUsername() string   { return user.Username }
func (*BasicAuthUser) GetName() string            { return "" }
func (*BasicAuthUser) GetGroups() []string        { return nil }
func (*BasicAuthUser) GetGivenName() string       { return "" }
func (*BasicAuthUser) GetFamilyName() string      { return "" }
func (*BasicAuthUser) GetEmail() string           { return "" }
func (*BasicAuthUser) IsEmailVerified() bool      { return false }

// HeaderUser has signed in by headers.
type HeaderUser struct {
	Username, Email string
	Groups          []string
}

func (*HeaderUser) GetType() string            { return "HEADER" }
func (user *HeaderUser) GetIdentifier() string { return first(user.Username, user.Email) }
func (user *HeaderUser) GetUsername() string   { return user.Username }
func (*HeaderUser) GetName() string            { return "" }
func (user *HeaderUser) GetGroups() []string   { return user.Groups }
func (*HeaderUser) GetGivenName() string       { return "" }
func (*HeaderUser) GetFamilyName() string      { return "" }
func (user *HeaderUser) GetEmail() string      { return user.Email }
func (*HeaderUser) IsEmailVerified() bool      { return false }

// OIDCUser has signed in by OpenID Connect.
type OIDCUser struct {
	PreferredUsername, Name, GivenName, FamilyName, Email string
	Groups                                                []string
	EmailVerified                                         bool
}

func (*OIDCUser) GetType() string            { return "OIDC" }
func (user *OIDCUser) GetIdentifier() string { return first(user.PreferredUsername, user.Email) }
func (user *OIDCUser) GetUsername() string   { return user.PreferredUsername }
func (user *OIDCUser) GetName() string       { return user.Name }
func (user *OIDCUser) GetGroups() []string   { return user.Groups }
func (user *OIDCUser) GetGivenName() string  { return user.GivenName }
func (user *OIDCUser) GetFamilyName() string { return user.FamilyName }
func (user *OIDCUser) GetEmail() string      { return user.Email }
func (user *OIDCUser) IsEmailVerified() bool { return user.EmailVerified }

func first(one, other string) string {
	if one != "" {
		return one
	}
	return other
}
